package rediscluster

import (
	"github.com/joomcode/redispipe/internal/wire"
	"github.com/joomcode/redispipe/redis"
)

// decode makes a request, with strings for arguments, of an encoded one.
func decode(r *wire.Request) redis.Request {
	return redis.Request{Cmd: r.Cmd, Args: r.Args()}
}
