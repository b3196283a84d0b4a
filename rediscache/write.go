package rediscache

import (
	"github.com/joomcode/redispipe/internal/resp"
	"github.com/joomcode/redispipe/internal/wire"
	"github.com/joomcode/redispipe/redis"
)

// write is the future of requests that may change keys. Whatever the result is, it drops what
// is kept of the keys before anybody learns of it: so a read that begins when the result is
// known finds nothing older, and joins no read that was sent before.
type write struct {
	wire.Passed
	core   *core
	change written
}

// Resolve implements redis.Future.
func (w *write) Resolve(res any, n uint64) {
	w.core.changed(w.change)
	resolve(w.To, res, n)
}

// DecodeReply implements resp.ReplyDecoder: it is asked for only if To does.
func (w *write) DecodeReply(d *resp.Decoder, n uint64) (any, error) {
	return w.To.(resp.ReplyDecoder).DecodeReply(d, n)
}

var (
	_ redis.Future      = (*write)(nil)
	_ resp.ReplyDecoder = (*write)(nil)
)
