package rediscache

import (
	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/redis"
)

// ErrNoServers is returned by New for a sender that is not a connection, cluster or Client, such as your own
// type that wraps a connection. Make the cache of the connection, and wrap the cache.
var ErrNoServers = redis.ErrOpts.NewType("no_servers")

// ErrScriptMode is returned by New for a connection with ScriptMode.
var ErrScriptMode = redis.ErrOpts.NewType("script_mode")

// errSwap returns the error of SWAPDB.
func errSwap() *errorx.Error {
	return redis.ErrCommandForbidden.New("SWAPDB changes the values of keys, which servers do not report: a cache refuses it")
}
