package send

import "github.com/joomcode/redispipe/internal/resp"

// ChangingFuture is the future of requests that may change keys. It calls Changed before it passes
// the result on, whatever the result is. So when the caller knows the result, nobody keeps or
// shares an older value.
type ChangingFuture struct {
	Forward
	Changes Changes
	Changed func(Changes)
}

// Resolve implements redis.Future.
func (f *ChangingFuture) Resolve(res any, n uint64) {
	f.Changed(f.Changes)
	Resolve(f.To, res, n)
}

// ChangingMany is the future of requests that were sent together. For each request it does what
// ChangingFuture does. Sets has what each request may change, and Start is the number of the first
// request.
type ChangingMany struct {
	Forward
	Sets    []Changes
	Start   uint64
	Changed func(Changes)
}

// Resolve implements redis.Future.
func (f *ChangingMany) Resolve(res any, n uint64) {
	f.Changed(f.Sets[n-f.Start])
	Resolve(f.To, res, n)
}

// DecodeReply implements resp.ReplyDecoder. It is called only if To implements it.
func (f *ChangingFuture) DecodeReply(d *resp.Decoder, n uint64) (any, error) {
	return f.To.(resp.ReplyDecoder).DecodeReply(d, n)
}

var (
	_ Future            = (*ChangingFuture)(nil)
	_ Future            = (*ChangingMany)(nil)
	_ resp.ReplyDecoder = (*ChangingFuture)(nil)
)
