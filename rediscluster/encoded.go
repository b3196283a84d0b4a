package rediscluster

import (
	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/internal/wire"
	"github.com/joomcode/redispipe/redis"
)

// encode encodes the request behind what is in buf, and returns buf with it.
func encode(buf []byte, req redis.Request) (wire.Request, []byte, error) {
	begin := len(buf)
	buf, err := redis.AppendRequest(buf, req)
	if err != nil {
		return wire.Request{}, buf, err
	}
	r := wire.Request{Cmd: req.Cmd, Buf: buf[begin:len(buf):len(buf)]}
	r.Describe(command.Of(req.Cmd, req.Args), true)
	return r, buf, nil
}

// decode makes a request, with strings for arguments, of an encoded one.
func decode(r *wire.Request) redis.Request {
	return redis.Request{Cmd: r.Cmd, Args: r.Args()}
}

// mayRepeat tells whether the request does no harm if it runs twice.
func mayRepeat(r *wire.Request) bool {
	if r.ReplicaSafe {
		return true
	}
	req := decode(r)
	return command.Of(req.Cmd, req.Args).Is(command.ReadOnly)
}
