package rediscache

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/internal/resp"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscache/internal/memory"
)

// reading is a read that is sent to a tracker, and the future of its request. Even if some of the
// waiting callers leave, the request is sent and answers the others.
//
// A reading is pooled, and has one owner. At first that is the caller that has created it. If that caller
// sends the request, the connection owns the reading, and resolves it once; Resolve recycles it after it
// has answered all waiting callers. If the request is not sent, the caller recycles the reading.
type reading struct {
	memory.Read // a text reply is read into the space behind Request
	core        *core
	from        *feed

	// isText is set if the reply is a string or null. decoded is set if DecodeReply has read the reply
	// into text.
	isText, decoded bool
	text            resp.Scalar

	// The fields needed to send the request again.
	cmd  string
	slot int
}

var readingPool = sync.Pool{New: func() any { return &reading{Read: memory.Read{Request: make([]byte, 0, leastRoom)}} }}

// leastRoom is the initial space of a reading for a request and its reply. A reading that has grown beyond
// mostRoom is not recycled.
const (
	leastRoom = 512
	mostRoom  = 16 << 10
)

// newReading returns a reading for an encoded request, which it copies.
func newReading(request []byte) *reading {
	r := readingPool.Get().(*reading)
	r.Request = append(r.Request, request...)
	return r
}

// recycle returns a reading to the pool. Only its owner may call it.
func (r *reading) recycle() {
	if cap(r.Request) > mostRoom {
		return
	}
	r.Reset()
	*r = reading{Read: r.Read}
	readingPool.Put(r)
}

// Cancelled implements redis.Future.
func (r *reading) Cancelled() error { return nil }

// Resolve implements redis.Future. After an error it forwards the request to the masters, whose client
// handles errors and redirects.
func (r *reading) Resolve(res any, _ uint64) {
	if r.decoded {
		request, text := r.joined()
		r.answer(request, memory.TextOf(text))
		return
	}
	err, failed := res.(error)
	if failed && redis.AsErrorx(err).IsOfType(redis.ErrMoved) {
		r.from.replaceLease() // the server has lost the slot, and may never report changes of the keys that were read there
	}
	if !failed && r.from.protocol == 2 {
		var ok bool
		res, ok = inRESP2(res)
		failed = !ok
	}
	if failed {
		r.elsewhere(redis.AsErrorx(res))
		return
	}
	r.answer(string(r.Request), memory.ValueOf(res))
}

// DecodeReply implements resp.ReplyDecoder: it reads a string once, for the entry and for all waiting
// callers.
func (r *reading) DecodeReply(d *resp.Decoder, _ uint64) (res any, err error) {
	r.text = resp.Scalar{Kind: resp.Bytes, Bytes: r.Request[len(r.Request):]}
	res, r.decoded, err = d.DecodeScalar(&r.text)
	return res, err
}

// joined returns the request and the text of its reply, which share their memory.
func (r *reading) joined() (request, text string) {
	var both strings.Builder
	both.Grow(len(r.Request) + len(r.text.Bytes))
	both.Write(r.Request)
	both.Write(r.text.Bytes)
	return both.String()[:len(r.Request)], both.String()[len(r.Request):]
}

// answer stores the reply, and resolves all waiting callers with it.
func (r *reading) answer(request string, v memory.Value) {
	for _, asker := range r.core.store.Fill(&r.Read, request, v) {
		w := waiter(asker)
		w.answeredBy(send.Server{Address: r.from.addr})
		r.core.settle(w, v)
	}
	r.recycle()
}

// elsewhere forwards the request to the masters, for all waiting callers. The reply is not kept. failed is
// the error of the tracker; nil if the request was not sent to it.
func (r *reading) elsewhere(failed *errorx.Error) {
	again := &send.Request{Cmd: r.cmd, Buf: r.Request, ReplicaSafe: true, ReadOnly: true, Slot: r.slot, Plain: true}
	again.Shared = command.Allowed
	r.core.passed.Add(1)
	waiting := &joined{core: r.core, all: slices.Clone(r.core.store.GiveUp(&r.Read))}
	waiting.attempts.Failed(failed)
	waiting.listen()
	r.core.backend.SendEncoded(again, waiting, 0)
	r.recycle()
}

// A deaf caller waits without watching its context, until a connection tells it to listen. deafLeast is the
// least time until a caller's deadline with which the cache lets the caller be deaf: twice the time after
// which a connection tells a caller to listen. The cache decides this itself, because a connection does
// not know the deadlines of callers that share a read.
const deafLeast = memory.Instant(10 * time.Millisecond)

// send sends the request. q is the request of the caller that calls send. That caller may leave while
// others stay, so the request does not depend on its context or deadline. But while the caller waits, it
// may read replies, and the connection may tell it to listen.
func (r *reading) send(q *send.Request) {
	t := r.from.tracker.Load()
	if t == nil {
		r.elsewhere(nil)
		return
	}
	if !q.Deadline.IsZero() && memory.InstantOf(q.Deadline)-r.Sent < deafLeast {
		q.Done = nil
	}
	q.Typed, q.Observed, q.Plain, q.Deadline = r.isText, false, false, time.Time{}
	t.backend.SendEncoded(q, r, 0)
	q.Ticket = send.Ticket{Tells: q.Ticket.Tells}
}

// readings is the future of several readings that were sent to one tracker as a batch.
type readings struct {
	from     *feed
	all      []*reading
	requests []*send.Request
}

// Cancelled implements redis.Future.
func (b *readings) Cancelled() error { return nil }

// Resolve implements redis.Future.
func (b *readings) Resolve(res any, n uint64) { b.all[n].Resolve(res, 0) }

// DecodeReply implements resp.ReplyDecoder.
func (b *readings) DecodeReply(d *resp.Decoder, n uint64) (any, error) {
	return b.all[n].DecodeReply(d, n)
}

func (b *readings) send() {
	t := b.from.tracker.Load()
	if t == nil {
		for _, r := range b.all {
			r.elsewhere(nil)
		}
		return
	}
	for i, q := range b.requests {
		q.Typed = b.all[i].isText
	}
	t.backend.SendEncodedBatch(b.requests, b, 0, 0)
}
