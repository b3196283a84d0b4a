// Package request encodes requests for those who send them.
package request

import (
	"github.com/joomcode/redispipe/internal/wire"
	"github.com/joomcode/redispipe/redis"
)

// Encode appends the request to buf and returns what connections and clusters send, with
// buf.
func Encode(buf []byte, req redis.Request, wantsSlot bool) (r wire.Request, _ []byte, err error) {
	buf, err = EncodeTo(&r, buf, req, wantsSlot)
	return r, buf, err
}

// EncodeTo is Encode with a place for the request, which is zero.
func EncodeTo(r *wire.Request, buf []byte, req redis.Request, wantsSlot bool) ([]byte, error) {
	out, err := redis.AppendRequest(buf, req)
	if err != nil {
		return buf, err
	}
	r.Encoded(req.Cmd, req.Args, out[len(buf):len(out):len(out)], wantsSlot)
	return out, nil
}
