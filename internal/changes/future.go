package changes

import (
	"github.com/joomcode/redispipe/internal/resp"
	"github.com/joomcode/redispipe/internal/send"
)

// Future is the future of requests that may change keys. Whatever the result, it calls Changed before it
// passes the result on. So when the result is known, nothing is kept or shared that is older.
type Future struct {
	send.Forward
	Set     Set
	Changed func(Set)
}

// Resolve implements redis.Future.
func (f *Future) Resolve(res any, n uint64) {
	f.Changed(f.Set)
	send.Resolve(f.To, res, n)
}

// Many is the future of requests that were sent together. It does as Future does, for each of them: Sets are
// what they may change, and Start is the number of the first.
type Many struct {
	send.Forward
	Sets    []Set
	Start   uint64
	Changed func(Set)
}

// Resolve implements redis.Future.
func (f *Many) Resolve(res any, n uint64) {
	f.Changed(f.Sets[n-f.Start])
	send.Resolve(f.To, res, n)
}

// DecodeReply implements resp.ReplyDecoder. It is used only if To implements it.
func (f *Future) DecodeReply(d *resp.Decoder, n uint64) (any, error) {
	return f.To.(resp.ReplyDecoder).DecodeReply(d, n)
}

var (
	_ send.Future       = (*Future)(nil)
	_ send.Future       = (*Many)(nil)
	_ resp.ReplyDecoder = (*Future)(nil)
)
