package rediscache

import (
	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/redis"
)

// ErrNoServers is returned by New for a sender whose servers it can't find, such as your own type
// that wraps a connection: wrap the cache instead.
var ErrNoServers = redis.ErrOpts.NewType("no_servers")

// ErrScriptMode is returned by New for a connection with ScriptMode.
var ErrScriptMode = redis.ErrOpts.NewType("script_mode")

// errSwap returns the error of SWAPDB.
func errSwap() *errorx.Error {
	return redis.ErrCommandForbidden.New("SWAPDB gives keys other values, of which servers tell nobody: a cache refuses it")
}
