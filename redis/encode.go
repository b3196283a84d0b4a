package redis

import (
	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/internal/resp"
	"github.com/joomcode/redispipe/internal/wire"
)

// AppendRequest appends the request in RESP to buf. If an argument has a type
// that can't be encoded, it returns buf as it was and ErrArgumentType.
func AppendRequest(buf []byte, req Request) ([]byte, error) {
	out, bad := resp.AppendCommand(buf, req.Cmd, req.Args)
	if bad >= 0 {
		return buf, errArgument(req.Cmd, bad, req.Args[bad]).
			WithProperty(EKVal, req.Args[bad]).
			WithProperty(EKRequest, req)
	}
	return out, nil
}

// EncodeRequest appends the request to buf and returns what connections and clusters
// send, with buf. It is for packages redisconn and rediscluster.
func EncodeRequest(buf []byte, req Request, wantsSlot bool) (wire.Request, []byte, error) {
	out, err := AppendRequest(buf, req)
	if err != nil {
		return wire.Request{}, buf, err
	}
	r := wire.Request{Cmd: req.Cmd, Buf: out[len(buf):len(out):len(out)]}
	call := command.Of(req.Cmd, req.Args)
	r.Describe(&call, wantsSlot)
	return r, out, nil
}

// ArgToString returns an argument as the text that is sent for it, and false
// if its type can't be sent.
func ArgToString(arg any) (string, bool) { return resp.ArgText(arg) }
