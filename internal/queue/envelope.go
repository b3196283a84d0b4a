package queue

import (
	"github.com/joomcode/redispipe/internal/peer"
	"github.com/joomcode/redispipe/internal/request"
	"github.com/joomcode/redispipe/internal/wire"
	"github.com/joomcode/redispipe/redis"
)

// What the library puts around requests.
var (
	asking = envelope("ASKING")
	multi  = envelope("MULTI")
	exec   = envelope("EXEC")
)

func envelope(cmd string) *wire.Request {
	r, _, _ := request.Encode(nil, redis.Req(cmd), false)
	return &r
}

// addEnvelope adds one of them.
func (b *Batch) addEnvelope(r *wire.Request, fut redis.Future, n, seq uint64, st *Stat) *Item {
	it := b.add(r, fut, n, seq, st)
	it.Caller = wire.CallerOf(fut)
	b.own++
	return it
}

const fencePrefix = "*2\r\n$4\r\nPING\r\n$16\r\n"

// enclose ends the batch with a fence: a PING whose echo shows that replies and requests
// are in step.
func (b *Batch) enclose() {
	b.Fence = peer.NewNonce()
	start := len(b.Buf)
	b.Buf = append(b.Buf, fencePrefix...)
	b.Buf = append(b.Buf, b.Fence[:]...)
	b.Buf = append(b.Buf, '\r', '\n')
	last := b.Items[len(b.Items)-1].Seq // it has no number of its own
	b.Items = append(b.Items, Item{Seq: last, Start: start, end: len(b.Buf)})
	b.own++
}
