package engine

import (
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/internal/sock"
	"github.com/joomcode/redispipe/internal/timing"
	"github.com/joomcode/redispipe/redis"
)

// Envelopes are the requests that the library puts around users' requests.
var (
	asking = envelope("ASKING")
	multi  = envelope("MULTI")
	exec   = envelope("EXEC")
)

func envelope(cmd string) *send.Request {
	r, _ := encode(redis.Req(cmd))
	return r
}

// encode encodes one of the library's own requests for the queue.
func encode(req redis.Request) (*send.Request, error) {
	buf, err := redis.AppendRequest(nil, req)
	if err != nil {
		return nil, err
	}
	r := new(send.Request)
	r.Encoded(req.Cmd, req.Args, buf, false)
	return r, nil
}

// addEnvelope adds envelope r, like add.
func (b *batch) addEnvelope(r *send.Request, fut redis.Future, n, seq uint64, st *timing.Stat) *item {
	it := b.add(r, fut, n, seq, st)
	it.caller = send.CallerOf(fut)
	b.internal++
	return it
}

const fencePrefix = "*2\r\n$4\r\nPING\r\n$16\r\n"

// enclose ends the batch with a fence, which is a PING. Its echo shows that each request got its
// own reply.
func (b *batch) enclose() {
	b.fence = sock.NewNonce()
	start := len(b.buf)
	b.buf = append(b.buf, fencePrefix...)
	b.buf = append(b.buf, b.fence[:]...)
	b.buf = append(b.buf, '\r', '\n')
	b.items = append(b.items, item{seq: b.lastSeq(), start: start, end: len(b.buf), internal: true})
	b.internal++
}

// pin marks the items added since m, which are sent together or not at all: a transaction, or
// ASKING and its request.
func (b *batch) pin(m mark) {
	for i := m.items; i < len(b.items); i++ {
		b.items[i].pinned, b.items[i].start = true, m.bytes
	}
}
