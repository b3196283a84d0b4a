// Package request encodes requests for those who send them.
package request

import (
	"github.com/joomcode/redispipe/internal/wire"
	"github.com/joomcode/redispipe/redis"
)

// Encode appends the request to buf and returns what connections and clusters send, with
// buf.
func Encode(buf []byte, req redis.Request, wantsSlot bool) (wire.Request, []byte, error) {
	out, err := redis.AppendRequest(buf, req)
	if err != nil {
		return wire.Request{}, buf, err
	}
	var r wire.Request
	r.Encoded(req.Cmd, req.Args, out[len(buf):len(out):len(out)], wantsSlot)
	return r, out, nil
}
