package replies

import (
	"context"
	"net"
	"sync"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/prefix"
	"github.com/joomcode/redispipe/internal/resp"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisvirtual/internal/proto"
)

// Flight is a group of requests that are sent together, and the future of these requests: it has the
// replies in order. A reply that the library gives itself is also a flight, with one reply.
//
// A flight belongs to the writer until Push, and then to the stream. The code that sends it also uses it
// until End, or until Send has sent the last request. The stream returns the flight to the pool when the
// client has read all replies and no code sends it any more, unless the stream was closed before that.
type Flight struct {
	// Reqs belongs to the writer, and then to the code that sends the requests.
	Reqs []send.Request
	// Blocks: the request blocks at the server, and the end of the stream's context must end it. Set it
	// before Push.
	Blocks bool

	to      *Stream
	next    *Flight
	replies []reply
	read    int // how many replies the client has read
	off     int // how many bytes of the next reply the client has read
	refs    []*send.Request
	// whole: the requests are a transaction, which is sent completely or not at all.
	whole bool
	// told is the number of replies to MULTI and the requests after it that the library has already
	// given to the client.
	told     int
	observed *observed      // nil without hooks
	names    []prefix.Names // where each reply contains names with the prefix; nil if none does

	// Guarded by Stream.mu.
	sending bool                // the flight is still being sent
	gone    bool                // all replies are read: put the flight into the pool when sending ends
	from    uint64              // the index of the first request that is being sent
	room    send.CapacityWaiter // not nil if the queue was full: the request at index from, and those after it, must be sent again
}

// reply is the reply to a request. It belongs to its resolver until done is set, and then to the
// stream.
type reply struct {
	frame []byte
	// framed: DecodeReply has copied the reply into frame; otherwise Resolve must encode the result.
	framed bool
	done   bool          // the request is resolved; guarded by Stream.mu
	lost   *errorx.Error // why there will be no reply
}

var flights = sync.Pool{New: func() any { return new(Flight) }}

// framesKept bounds the bytes of frames, and repliesKept the number of replies, that a recycled flight
// keeps, so that a large reply does not pin its memory forever.
const (
	framesKept  = 16 << 10
	repliesKept = 1 << 10
)

// NewFlight returns a flight without requests.
func (s *Stream) NewFlight() *Flight {
	f := flights.Get().(*Flight)
	f.to = s
	return f
}

// put returns a flight to the pool.
func (f *Flight) put() {
	replies, reqs, refs := f.replies, f.Reqs, f.refs
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
	clear(refs) // the pointers may keep an old array of Reqs alive
	*f = Flight{replies: replies[:0], Reqs: reqs[:0], refs: refs[:0]}
	flights.Put(f)
}

// Add adds a request, and returns it for the caller to fill in.
func (f *Flight) Add() *send.Request {
	n := len(f.Reqs)
	if n < cap(f.Reqs) {
		f.Reqs = f.Reqs[:n+1]
	} else {
		f.Reqs = append(f.Reqs, send.Request{})
	}
	f.AddReply()
	return &f.Reqs[n]
}

// Cut removes the request that was added last.
func (f *Flight) Cut() {
	f.Reqs[len(f.Reqs)-1] = send.Request{} // because put clears only the requests up to the length
	f.Reqs, f.replies = f.Reqs[:len(f.Reqs)-1], f.replies[:len(f.replies)-1]
}

// AddReply adds a reply, for a request that the library answers itself. The frame of the reply may have
// memory from an earlier use.
func (f *Flight) AddReply() *reply {
	n := len(f.replies)
	if n < cap(f.replies) {
		f.replies = f.replies[:n+1]
	} else {
		f.replies = append(f.replies, reply{})
	}
	return &f.replies[n]
}

// inFrame is the result of a request whose reply is in reply.frame. Senders only pass the result on.
var inFrame any = new(Flight)

// DecodeReply implements resp.ReplyDecoder. It may be called again for a retried request.
func (f *Flight) DecodeReply(d *resp.Decoder, n uint64) (any, error) {
	r := &f.replies[n]
	frame, refused, err := d.AppendFrame(r.frame[:0])
	r.frame = frame
	if refused != nil && refused.IsOfType(redis.ErrResult) {
		return refused, err
	}
	return inFrame, err // for values, and for errors that are no valid redirect
}

// Resolve implements redis.Future.
func (f *Flight) Resolve(res any, n uint64) {
	r := &f.replies[n]
	failure := redis.AsErrorx(res)
	if failure != nil && failure.IsOfType(redis.ErrQueueFull) && f.awaitsRoom(n, failure) {
		return
	}
	r.framed = res == inFrame
	switch {
	case r.framed:
	case failure != nil && !failure.IsOfType(redis.ErrResult):
		r.frame, r.lost = f.refusedHere(int(n), failure)
	default:
		r.frame = proto.AppendResult(r.frame[:0], res, f.to.terms.Protocol)
	}
	if r.lost == nil {
		r.frame = f.strip(int(n), r.frame)
	}
	if f.whole && int(n) == len(f.replies)-1 {
		f.judge(r, res)
	}
	if f.observed != nil {
		f.observed.end(int(n), r, failure)
	}
	f.to.resolved(f, r, int(n))
}

// Cancelled implements redis.Future.
func (f *Flight) Cancelled() error {
	if !f.whole && f.to.Closed() {
		return net.ErrClosed
	}
	return nil
}

// Context returns the context that ends the requests, for send.ContextOf.
func (f *Flight) Context() context.Context {
	if f.Blocks {
		return f.to.Context()
	}
	return context.Background()
}

// NamesRequests implements send.Namer: errors need not name the requests, because the client knows
// them.
func (*Flight) NamesRequests() {}

var _ resp.ReplyDecoder = (*Flight)(nil)
