package rediscache

import (
	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/redis"
)

// ErrNoServers is returned by New for a sender whose servers it can't find, such as a type of
// the user's that wraps a connection: wrap the cache instead.
var ErrNoServers = redis.ErrOpts.NewType("no_servers")

// ErrScriptMode is returned by New for connections with ScriptMode.
var ErrScriptMode = redis.ErrOpts.NewType("script_mode")

// errSwap is what SWAPDB ends with.
func errSwap() *errorx.Error {
	return redis.ErrCommandForbidden.New("SWAPDB gives keys other values, of which servers tell nobody: a cache refuses it")
}
