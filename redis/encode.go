package redis

import (
	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/resp"
)

// AppendRequest appends the request in RESP to buf. If an argument has a type
// that can't be encoded, it returns buf as it was and ErrArgumentType.
func AppendRequest(buf []byte, req Request) ([]byte, error) {
	out, bad := resp.AppendCommand(buf, req.Cmd, req.Args)
	if bad >= 0 {
		return buf, errArgument(req.Cmd, bad, req.Args[bad], insteadOfArg(req.Cmd, req.Args, bad)).
			WithProperty(errs.EKVal, req.Args[bad]).
			WithProperty(errs.EKRequest, req)
	}
	return out, nil
}

// ArgToString returns an argument as the text that is sent for it, and false
// if its type can't be sent.
func ArgToString(arg any) (string, bool) { return resp.ArgText(arg) }
