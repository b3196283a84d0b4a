package rediscluster

import (
	"bytes"
	"strconv"

	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/internal/wire"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster/redisclusterutil"
)

// encode encodes the request behind what is in buf, and returns buf with it.
func encode(buf []byte, req redis.Request) (wire.Request, []byte, error) {
	begin := len(buf)
	buf, err := redis.AppendRequest(buf, req)
	if err != nil {
		return wire.Request{}, buf, err
	}
	call := command.Of(req.Cmd, req.Args)
	r := wire.Request{
		Cmd:         req.Cmd,
		Buf:         buf[begin:len(buf):len(buf)],
		Shared:      call.Verdict(false),
		Single:      call.Verdict(true),
		ReplicaSafe: call.Is(command.ReplicaSafe),
		Slot:        wire.NoSlot,
	}
	if r.Shared != command.Malformed {
		r.Slot = redisclusterutil.KeysSlot(req.Cmd, req.Args)
	}
	return r, buf, nil
}

// decode makes a request, with strings for arguments, of an encoded one.
func decode(r *wire.Request) redis.Request {
	req := redis.Request{Cmd: r.Cmd}
	skip := 1 + wire.SubcommandWords(r.Cmd)
	_, rest, _ := bytes.Cut(r.Buf, []byte("\r\n"))
	for len(rest) > 0 {
		header, after, _ := bytes.Cut(rest[1:], []byte("\r\n"))
		n, _ := strconv.Atoi(string(header))
		if skip--; skip < 0 {
			req.Args = append(req.Args, string(after[:n]))
		}
		rest = after[n+2:]
	}
	return req
}

// mayRepeat tells whether the request does no harm if it runs twice.
func mayRepeat(r *wire.Request) bool {
	if r.ReplicaSafe {
		return true
	}
	req := decode(r)
	return command.Of(req.Cmd, req.Args).Is(command.ReadOnly)
}
