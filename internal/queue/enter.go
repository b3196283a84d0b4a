package queue

import (
	"context"
	"slices"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/internal/peer"
	"github.com/joomcode/redispipe/internal/request"
	"github.com/joomcode/redispipe/internal/timing"
	"github.com/joomcode/redispipe/internal/wire"
	"github.com/joomcode/redispipe/redis"
)

// Entry describes requests that enter together.
type Entry struct {
	Future redis.Future
	N      uint64 // number of the first; MULTI has one less, EXEC one more than the last
	// Asking puts ASKING before them, Transaction puts them between MULTI and EXEC.
	Asking, Transaction bool
	// On, if not nil, is the only session on which the requests may be written: they are
	// resolved when it fails.
	On *Session
	// Stat, if not nil, makes the statistics of a request, or returns nil.
	Stat func(*wire.Request) *Stat
	// Blocks: requests may block, and it matters how long.
	Blocks bool
}

func (e *Entry) stat(r *wire.Request) *Stat {
	if e.Stat == nil {
		return nil
	}
	return e.Stat(r)
}

// Duty is what the sender of a request that has entered has to do: a set of flags, which fits
// into a register.
type Duty uint8

// The duties.
const (
	MustCheck  Duty = 1 << iota // check the socket before it writes: nobody has read since the last reply
	MustWake                    // pass the right to read to the loop, before it writes
	MustWrite                   // it has the right to write
	MustListen                  // see to it that Listen is called
)

// Enter admits requests, or refuses them. The sender then has to do its duty d on s. The queue
// keeps neither reqs nor e. last is the ticket of the last request. Nobody may read reqs after
// they have entered: their owner may use them again as soon as they are written.
func (q *Queue) Enter(reqs []*wire.Request, e *Entry) (s *Session, d Duty, last wire.Ticket, refused *errorx.Error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	_, own := e.Future.(wire.Own) // one of the library's own
	if refused = q.admit(reqs, e, own); refused != nil {
		return nil, 0, last, refused
	}
	if q.open == nil {
		q.open = q.spares.batch()
		q.opened, q.postponed = timing.Clock(), postponed{}
	}
	m := q.open.mark()
	last = q.append(m, reqs, e, own)
	q.pending += len(q.open.Items) - m.items
	q.gate.own += q.open.own - m.own
	q.bytes += len(q.open.Buf) - m.bytes
	if last.Tells && q.tellLater() {
		d = MustListen
	}
	s, rights := q.duty()
	return s, d | rights, last, nil
}

// admit returns nil if the requests may enter, and otherwise their error. If nothing is
// pending, more of them than the bound may enter together.
func (q *Queue) admit(reqs []*wire.Request, e *Entry, own bool) *errorx.Error {
	switch {
	case q.ctx.Err() != nil, q.state == Closed, q.draining != nil, q.withheld.Load() && !own:
		return peer.Closed(q.ctx)
	case q.state == Disconnected:
		return peer.ErrNotConnected.Wrap(q.why, "not connected")
	case q.pending > 0 && !q.fits(len(reqs)):
		return redis.ErrQueueFull.New("queue is full: %d requests, %d bytes not written", q.pending, q.bytes)
	case e.On != nil && e.On != q.session:
		return peer.ErrNotConnected.New("the session has ended")
	case len(reqs) == 1 && !q.inTime(reqs[0].Deadline):
		q.letIn() // the room may have been kept for this caller
		return redis.ErrOverloaded.Wrap(context.DeadlineExceeded, "the deadline can't be met: %d requests are ahead of this one", q.pending).
			WithProperty(redis.EKDelay, q.overloaded())
	}
	return nil
}

// inTime reports whether a request that enters now is likely to be answered before its
// deadline.
func (q *Queue) inTime(deadline time.Time) bool {
	if deadline.IsZero() || q.head == nil {
		return true
	}
	now := q.clock()
	return inTime(now-q.head.Taken, q.usual, timing.Until(deadline, now))
}

// append adds the requests to the open batch, which ends at m, and returns the ticket of the
// last.
func (q *Queue) append(m mark, reqs []*wire.Request, e *Entry, own bool) (last wire.Ticket) {
	b := q.open
	if e.Asking {
		b.addEnvelope(asking, nil, 0, q.nextSeq(), e.stat(asking)).Own = true
	}
	if e.Transaction {
		b.addEnvelope(multi, e.Future, e.N-1, q.nextSeq(), e.stat(multi)).Multi = true
	}
	for i, r := range reqs {
		last = wire.Ticket{Queue: q, Seq: q.nextSeq(), Tells: q.tells(r)}
		r.Ticket = last
		it := b.add(r, e.Future, e.N+uint64(i), last.Seq, e.stat(r))
		if last.Tells {
			it.done = r.Done
		}
		if own {
			it.Own = true
			b.own++
		}
		if e.Blocks {
			call := command.Of(r.Cmd, r.Args())
			b.Blocks = timing.Plus(b.Blocks, call.BlockTime())
		}
	}
	if e.Transaction {
		it := b.addEnvelope(exec, e.Future, e.N+uint64(len(reqs)), q.nextSeq(), e.stat(exec))
		it.Exec, it.Plain, it.Observed = true, e.Future != nil, wire.Observes(e.Future)
		b.plain = b.plain || it.Plain
		if len(reqs) == 0 { // the transaction counts as its requests
			b.own--
		}
	}
	if e.Asking || e.Transaction {
		b.pin(m)
	}
	return last
}

// nextSeq numbers a request.
func (f *flight) nextSeq() (seq uint64) {
	seq = f.seq
	f.seq++
	return seq
}

// duty gives the rights that are free to the sender of the last requests of the open batch,
// or to the caller that waits for them.
func (q *Queue) duty() (s *Session, d Duty) {
	if s = q.session; s == nil {
		return nil, 0
	}
	switch {
	case q.yielding != 0 && q.enough(q.concurrency):
		q.yielding = 0 // takes over the right to write
		d = MustWrite
	case q.writing:
	case !q.postponable():
		q.writing = true
		d = MustWrite
	case q.postponed.since == 0:
		q.postponed.since = q.opened
	}
	if q.reading != readNobody {
		return s, d
	}
	// A caller that is to read checks and writes, too: nobody else may touch the
	// socket once it has the right.
	last := &q.open.Items[len(q.open.Items)-1]
	s.Both = true
	if caller := last.Caller; caller != nil {
		seq := last.Seq
		if s.MayExchange && alone(q.concurrency) && !q.open.customFutures {
			q.flyFirst()
		}
		if caller.GiveRead(wire.ReadRight{Reader: s.Reader, Last: seq}) {
			q.reading, q.read = readCaller, true
			return nil, 0
		}
	}
	s.Both = false
	q.reading = readLoop
	return s, d | MustCheck | MustWake
}

// The envelopes: what the library puts around requests.
var (
	asking = envelope("ASKING")
	multi  = envelope("MULTI")
	exec   = envelope("EXEC")
)

func envelope(cmd string) *wire.Request {
	r, _, _ := request.Encode(nil, redis.Req(cmd), false)
	return &r
}

// addEnvelope adds an envelope.
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
	b.Items = append(b.Items, Item{Seq: last, Start: start, end: len(b.Buf), Own: true})
	b.own++
}

// mark is a place in an open batch.
type mark struct{ bytes, items, own int }

func (b *Batch) mark() mark { return mark{len(b.Buf), len(b.Items), b.own} }

// add adds a request. seq is its number in its queue.
func (b *Batch) add(r *wire.Request, fut redis.Future, n, seq uint64, st *Stat) *Item {
	start := len(b.Buf)
	b.Buf = append(b.Buf, r.Buf...)
	it := b.nextItem()
	it.Future, it.N, it.Seq = fut, n, seq
	it.Start, it.end = start, len(b.Buf)
	it.Caller, it.Typed, it.Observed, it.Plain = r.Caller, r.Typed, r.Observed, r.Plain
	if st != nil { // a logger wants the result
		it.Stat, it.Typed = st, false
	}
	b.plain = b.plain || r.Plain
	if r.Caller != nil || fut == nil {
		return it // a caller that waits withdraws its request itself
	}
	switch fut.(type) {
	case redis.FuncFuture, wire.Own: // never cancelled
	default:
		b.customFutures = true
	}
	return it
}

// nextItem adds an item that is zero, to be filled in place: copying an item that was
// just filled would wait until the processor has stored its fields.
func (b *Batch) nextItem() *Item {
	n := len(b.Items)
	if n == cap(b.Items) {
		b.Items = slices.Grow(b.Items, 1)
	}
	b.Items = b.Items[:n+1]
	return &b.Items[n]
}

// pin keeps together the items added since m: a transaction, or ASKING and its request.
func (b *Batch) pin(m mark) {
	for i := m.items; i < len(b.Items); i++ {
		b.Items[i].pinned, b.Items[i].Start = true, m.bytes
	}
}
