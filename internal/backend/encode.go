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

// EncodeTo is Encode for a request r of the caller's, which must be zero.
func EncodeTo(r *send.Request, buf []byte, req redis.Request, wantsSlot bool) ([]byte, error) {
	out, err := redis.AppendRequest(buf, req)
	if err != nil {
		return buf, err
	}
	r.Encoded(req.Cmd, req.Args, out[len(buf):len(out):len(out)], wantsSlot)
	return out, nil
}

// SlotOf returns the slot of a request's keys, as in send.Request. It returns false if the request has
// no keys, or can't be encoded.
func SlotOf(req redis.Request) (slot int, keys bool) {
	scratch := send.GetScratch()
	defer send.PutScratch(scratch)
	r, buf, err := Encode(scratch.Buf, req, true)
	scratch.Buf = buf
	return r.Slot, err == nil && r.Slot != send.NoSlot
}
