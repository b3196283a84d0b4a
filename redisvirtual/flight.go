package redisvirtual

import (
	"context"
	"sync"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/frames"
	"github.com/joomcode/redispipe/internal/resp"
	"github.com/joomcode/redispipe/internal/wire"
	"github.com/joomcode/redispipe/redis"
)

// flight is what is sent together, and the future of it: the replies in their order. What is
// answered here is a flight, too, of one reply.
//
// It is its connection's from push on, which takes it out when all replies are read. Then it
// goes back to the pool, unless a sender has it still. A flight whose connection is closed
// meanwhile does not go back.
type flight struct {
	c       *conn
	next    *flight
	replies []reply
	read    int // replies that are read, and of the next one so many bytes
	off     int
	reqs    []wire.Request // the sender's, until it is sent
	refs    []*wire.Request
	// whole: the requests are a transaction, of which none is taken out.
	whole bool
	// told: the client was told that MULTI is done.
	told bool
	// blocks: the context of the connection ends the request.
	blocks   bool
	observed *observed // nil without hooks

	// Guarded by conn.mu.
	sending bool                // the sender has it still
	gone    bool                // it is read, and goes back to the pool when it is sent
	from    uint64              // the request that is being sent, or the first of them
	room    wire.CapacityWaiter // the queue was full, and what is being sent is to be sent again
}

// reply is what a request was answered with. It belongs to whoever resolves it until done is
// set, and then to the connection.
type reply struct {
	frame []byte
	// framed: frame has the last reply that was read; else the result has it.
	framed bool
	done   bool          // guarded by conn.mu
	lost   *errorx.Error // there is no reply
}

var flights = sync.Pool{New: func() any { return new(flight) }}

// A flight keeps frames of up to so many bytes, and up to so many replies, for its next use: one
// large reply must not pin its size forever.
const (
	framesKept  = 16 << 10
	repliesKept = 128
)

func newFlight(c *conn) *flight {
	f := flights.Get().(*flight)
	f.c = c
	return f
}

// put gives a flight back.
func (f *flight) put() {
	replies, reqs, refs := f.replies, f.reqs, f.refs
	if cap(replies) > repliesKept {
		replies, reqs, refs = nil, nil, nil
	}
	kept := 0
	for i := range replies {
		frame := replies[i].frame
		if kept += cap(frame); kept > framesKept {
			frame = nil
		}
		replies[i] = reply{frame: frame[:0]}
	}
	clear(reqs)
	*f = flight{replies: replies[:0], reqs: reqs[:0], refs: refs[:0]}
	flights.Put(f)
}

// add adds a request, and returns it to be described.
func (f *flight) add() *wire.Request {
	n := len(f.reqs)
	if n < cap(f.reqs) {
		f.reqs = f.reqs[:n+1]
	} else {
		f.reqs = append(f.reqs, wire.Request{})
	}
	f.reply()
	return &f.reqs[n]
}

// reply adds a reply, which has the frame of an earlier one to write into.
func (f *flight) reply() *reply {
	n := len(f.replies)
	if n < cap(f.replies) {
		f.replies = f.replies[:n+1]
	} else {
		f.replies = append(f.replies, reply{})
	}
	return &f.replies[n]
}

// inFrame is the result of a reply that is in its frame, and says nothing to a sender.
var inFrame any = new(flight)

// DecodeReply implements resp.ReplyDecoder. It may be called again, for a request that was sent
// again.
func (f *flight) DecodeReply(d *resp.Decoder, n uint64) (any, error) {
	r := &f.replies[n]
	frame, refused, err := d.AppendFrame(r.frame[:0])
	r.frame = frame
	if refused != nil && refused.IsOfType(redis.ErrResult) {
		return refused, err
	}
	return inFrame, err // also a redirect that is malformed, as a script can answer
}

// Resolve implements redis.Future.
func (f *flight) Resolve(res any, n uint64) {
	r := &f.replies[n]
	failure := redis.AsErrorx(res)
	if failure != nil && failure.IsOfType(redis.ErrQueueFull) && f.c.awaitsRoom(f, n, failure) {
		return
	}
	r.framed = res == inFrame
	switch {
	case r.framed:
	case failure != nil && !failure.IsOfType(redis.ErrResult):
		r.frame, r.lost = refusedHere(r.frame[:0], failure)
	default:
		r.frame = frames.AppendResult(r.frame[:0], res, f.c.to.protocol)
	}
	if f.whole && int(n) == len(f.replies)-1 {
		f.judge(r, res)
	}
	if f.observed != nil {
		f.observed.end(int(n), r, failure)
	}
	f.c.resolved(f, r, int(n))
}

// Cancelled implements redis.Future.
func (f *flight) Cancelled() error {
	if f.whole {
		return nil
	}
	return f.c.gone()
}

// Context is for wire.ContextOf.
func (f *flight) Context() context.Context {
	if f.blocks {
		return f.c.context()
	}
	return context.Background()
}

// NamesRequests implements wire.Namer: a client knows what it has asked.
func (*flight) NamesRequests() {}

var _ resp.ReplyDecoder = (*flight)(nil)

// cut takes the request back that was added last.
func (f *flight) cut() {
	f.reqs, f.replies = f.reqs[:len(f.reqs)-1], f.replies[:len(f.replies)-1]
}
