package rediscache

import (
	"time"

	"github.com/joomcode/redispipe/internal/command"
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

	// What it takes to send the request again.
	cmd  string
	slot int
}

// Cancelled implements redis.Future.
func (r *reading) Cancelled() error { return nil }

// Resolve implements redis.Future. What is an error here may be none elsewhere, and is told by
// who knows what to do about it: the request is sent as any other.
func (r *reading) Resolve(res any, _ uint64) {
	if _, failed := res.(error); failed {
		r.elsewhere()
		return
	}
	if r.from.protocol == 2 {
		var ok bool
		if res, ok = inRESP2(res); !ok {
			r.elsewhere()
			return
		}
	}
	v := valueOf(res)
	for i, w := range r.core.store.fill(r.entry, v) {
		if i > 0 {
			res = v.result()
		}
		if wire.Observes(w.to) {
			wire.AnsweredBy(w.to, wire.Place{Address: r.from.addr})
		}
		w.settle(res)
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

func (b *readings) send() {
	t := b.from.tracker.Load()
	if t == nil {
		for _, r := range b.all {
			r.elsewhere()
		}
		return
	}
	t.inner.SendEncodedBatch(b.requests, b, 0, 0)
}
