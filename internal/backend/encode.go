package backend

import (
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redis"
)

// Encode appends the request to buf, and returns buf and the request in the form that connections
// and clusters send.
func Encode(buf []byte, req redis.Request, wantsSlot bool) (r send.Request, _ []byte, err error) {
	buf, err = EncodeTo(&r, buf, req, wantsSlot)
	return r, buf, err
}

// EncodeTo is Encode into r, which must be zero.
func EncodeTo(r *send.Request, buf []byte, req redis.Request, wantsSlot bool) ([]byte, error) {
	out, err := redis.AppendRequest(buf, req)
	if err != nil {
		return buf, err
	}
	r.Encoded(req.Cmd, req.Args, out[len(buf):len(out):len(out)], wantsSlot)
	return out, nil
}
