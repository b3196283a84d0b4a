package rediscache

import (
	"time"

	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/internal/resp"
	"github.com/joomcode/redispipe/internal/wire"
)

// reading is the read of an entry: the future of the request that a tracker was sent. Whoever
// leaves who waits for it, the request is sent, and answers the others.
type reading struct {
	core    *core
	entry   *entry
	from    *feed
	waiting []waiter // guarded by the lock of the entry's shard
	first   [1]waiter
	// isText: the reply is a string or null, and text where it is read.
	isText, decoded bool
	text            resp.Scalar

	// What it takes to send the request again.
	cmd  string
	slot int
}

// Cancelled implements redis.Future.
func (r *reading) Cancelled() error { return nil }

// Resolve implements redis.Future. What is an error here may be none elsewhere, and is told by
// who knows what to do about it: the request is sent as any other.
func (r *reading) Resolve(res any, _ uint64) {
	if r.decoded {
		r.answer(value{text: r.text.Text, isText: true})
		return
	}
	_, failed := res.(error)
	if !failed && r.from.protocol == 2 {
		var ok bool
		res, ok = inRESP2(res)
		failed = !ok
	}
	if failed {
		r.elsewhere()
		return
	}
	r.answer(valueOf(res))
}

// DecodeReply implements resp.ReplyDecoder: a string is read once, for the entry and for all who
// wait.
func (r *reading) DecodeReply(d *resp.Decoder, _ uint64) (res any, err error) {
	r.text.Kind = resp.String
	res, r.decoded, err = d.DecodeScalar(&r.text)
	return res, err
}

// answer gives the entry its value, and that to all who wait for it.
func (r *reading) answer(v value) {
	for _, w := range r.core.store.fill(r.entry, v) {
		if wire.Observes(w.to) {
			wire.AnsweredBy(w.to, wire.Place{Address: r.from.addr})
		}
		w.settle(v)
	}
}

// elsewhere has the request answered by the servers as any other, for all that wait for it. The
// reply is not kept.
func (r *reading) elsewhere() {
	again := &wire.Request{Cmd: r.cmd, Buf: []byte(r.entry.request), ReplicaSafe: true, ReadOnly: true, Slot: r.slot, Plain: true}
	again.Shared, again.Single = command.Allowed, command.Allowed
	r.core.passed.Add(1)
	r.core.inner.SendEncoded(again, several(r.core.store.giveUp(r.entry)), 0)
}

// send sends the request of the entry, which r is, for the caller that has encoded it. Nothing of
// the caller's is asked of it but that it reads the reply if it waits for that: it may leave, and
// the others stay.
func (r *reading) send(q *wire.Request) {
	t := r.from.tracker.Load()
	if t == nil {
		r.elsewhere()
		return
	}
	plain(q)
	q.Typed = r.isText
	t.inner.SendEncoded(q, r, 0)
	q.Ticket = wire.Ticket{}
}

// plain takes from a request what a caller wants of it alone.
func plain(q *wire.Request) {
	q.Typed, q.Observed, q.Deaf, q.Plain = false, false, false, false
	q.Deadline = time.Time{}
}

// readings are the future of those that were sent to one tracker as a batch.
type readings struct {
	from     *feed
	all      []*reading
	requests []*wire.Request
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
			r.elsewhere()
		}
		return
	}
	for i, q := range b.requests {
		q.Typed = b.all[i].isText
	}
	t.inner.SendEncodedBatch(b.requests, b, 0, 0)
}
