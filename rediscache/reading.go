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

// reading is a read that a tracker is sent, and the future of its request. Whoever leaves who waits
// for it, the request is sent, and answers the others.
//
// It is pooled, and belongs to whom the read in it does: to the caller that has made it, then, if
// that asks, to the sender of the request, which resolves it once. Who resolves it recycles it
// when all who waited are told; else the caller does.
type reading struct {
	memory.Read // the reply is read into the room behind its request
	core        *core
	from        *feed

	// isText: the reply is a string or null, and text where it is read.
	isText, decoded bool
	text            resp.Scalar

	// What it takes to send the request again.
	cmd  string
	slot int
}

var readingPool = sync.Pool{New: func() any { return &reading{Read: memory.Read{Request: make([]byte, 0, leastRoom)}} }}

// A reading is made with so much room for a request and its reply, and left to the garbage
// collector if it has got more than mostRoom.
const (
	leastRoom = 512
	mostRoom  = 16 << 10
)

// newReading returns a reading of a request.
func newReading(request []byte) *reading {
	r := readingPool.Get().(*reading)
	r.Request = append(r.Request, request...)
	return r
}

// recycle ends the use of a reading, which is the caller's.
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

// Resolve implements redis.Future. What is an error here may be none elsewhere, and is told by
// who knows what to do about it: the request is sent as any other.
func (r *reading) Resolve(res any, _ uint64) {
	if r.decoded {
		request, text := r.joined()
		r.answer(request, memory.TextOf(text))
		return
	}
	_, failed := res.(error)
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

// DecodeReply implements resp.ReplyDecoder: a string is read once, for the entry and for all who
// wait.
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

// answer has the reply kept, and gives it to all who wait for it.
func (r *reading) answer(request string, v memory.Value) {
	for _, asker := range r.core.store.Fill(&r.Read, request, v) {
		w := waiter(asker)
		w.answeredBy(send.Server{Address: r.from.addr})
		r.core.settle(w, v)
	}
	r.recycle()
}

// elsewhere has the request answered by the servers as any other, for all that wait for it. The
// reply is not kept. failed is why the tracker has not answered it, if it was asked.
func (r *reading) elsewhere(failed *errorx.Error) {
	again := &send.Request{Cmd: r.cmd, Buf: r.Request, ReplicaSafe: true, ReadOnly: true, Slot: r.slot, Plain: true}
	again.Shared = command.Allowed
	r.core.passed.Add(1)
	waiting := &several{core: r.core, all: slices.Clone(r.core.store.GiveUp(&r.Read))}
	waiting.attempts.Failed(failed)
	waiting.listen()
	r.core.inner.SendEncoded(again, waiting, 0)
	r.recycle()
}

// deafLeast is the least time that a caller has to have who waits to be told to listen, which
// connections that know its deadline decide by themselves: twice as long as they take at the
// most.
const deafLeast = memory.Instant(10 * time.Millisecond)

// send sends the request for the caller that has encoded it. Nothing of the caller's is asked of it
// but that it reads the reply if it waits for that, and is told to listen: it may leave, and the
// others stay.
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
	t.inner.SendEncoded(q, r, 0)
	q.Ticket = send.Ticket{Tells: q.Ticket.Tells}
}

// readings are the future of those that were sent to one tracker as a batch.
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
	t.inner.SendEncodedBatch(b.requests, b, 0, 0)
}
