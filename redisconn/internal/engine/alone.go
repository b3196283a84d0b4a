package engine

import (
	"context"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/internal/sock"
	"github.com/joomcode/redispipe/internal/timing"
	"github.com/joomcode/redispipe/redis"
)

// This file contains the path of a request whose caller is alone, from top to bottom: the caller's
// goroutine queues the request, writes it, waits, decodes the reply, and resolves its future. Other
// files handle everything unusual.

// Send enters one request. It does for one request what [Pipe.Enter] does for several.
func (p *Pipe) Send(r *send.Request, cb redis.Future, n uint64) (refused *errorx.Error) {
	s, d, entered := p.enterAlone(r, cb, n)
	if !entered {
		one := [1]*send.Request{r}
		if s, d, refused = p.enter(one[:], &Entry{Future: cb, N: n, Asking: r.Asking}); refused != nil {
			return refused
		}
	}
	if d != 0 {
		p.do(d, s)
	}
	return nil
}

// enterAlone enters a request if its caller is alone and nothing about the request is unusual. It
// puts a batch with only this request in flight, and gives the caller both rights.
func (q *queue) enterAlone(r *send.Request, fut redis.Future, n uint64) (_ *Session, d duty, entered bool) {
	if q.load.Load() > 1 { // decides most cases without the lock; admitsAlone checks the others
		return nil, 0, false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.admitsAlone(r) {
		return nil, 0, false
	}
	r.Ticket = send.Ticket{Queue: q, Seq: q.seq}
	q.seq++
	b := q.newBatch()
	b.buf, b.plain = append(b.buf, r.Buf...), r.Plain
	b.items = append(b.items, item{})
	it := &b.items[0] // filled in place: see nextItem
	it.future, it.n, it.seq, it.end, it.caller = fut, n, r.Ticket.Seq, len(b.buf), r.Caller
	it.typed, it.observed, it.plain = r.Typed, r.Observed, r.Plain
	if r.Done != nil && q.tells(r, q.opened) {
		if r.Ticket.Tells, it.done = true, r.Done; !q.due {
			d = q.arrangeListen()
		}
	}
	q.pending++
	rest, rights := q.giveBoth(b, r.Caller, r.Ticket.Seq)
	return rest, d | rights, true
}

// admitsAlone reports whether the caller of r is alone, and nothing about its request is unusual.
func (q *queue) admitsAlone(r *send.Request) bool {
	switch s := q.session; {
	case s == nil || !s.mayExchange || q.reading != readNobody || q.concurrency > 1:
	case r.Caller == nil || r.Asking || len(r.Buf) > q.maxBytes:
	case q.draining != nil || q.withheld.Load() || q.admitted.Load() || q.opts.Ctx.Err() != nil:
	case q.opts.Stat != nil || q.opts.Script:
	default:
		return true
	}
	return false
}

// tells decides whether the caller of r, which enters now, is deaf until it is told to listen (see
// [send.Caller]). A caller listens at once if its deadline may pass before it would be told, or if
// requests take so long that most callers would be told. now is from clock, which may be slightly
// late.
func (q *queue) tells(r *send.Request, now time.Duration) bool {
	return q.avgLatency < deafMost && (r.Deadline.IsZero() || timing.Until(r.Deadline, now) >= deafMost+2*listenEvery)
}

// exchanger is the Reader of a caller that has both rights, and writes before it reads.
type exchanger struct{ *Session }

// ReadUntil implements send.Reader.
func (s exchanger) ReadUntil(ctx context.Context, last uint64, deaf bool) (passed bool) {
	s.reader.deaf = deaf
	if passed, finished := s.readAlone(ctx); finished {
		return passed
	}
	return s.Session.ReadUntil(ctx, last, deaf)
}

// readAlone writes the batch in s.first, if there is one. If the caller is alone, readAlone also
// waits for the reply and resolves the request. finished is set if ReadUntil has nothing left to
// do: the request is resolved, or ctx has ended.
func (s *Session) readAlone(ctx context.Context) (passed, finished bool) {
	b := s.first.Swap(nil)
	if b == nil {
		return false, false
	}
	if !s.exchange(ctx, b) {
		return false, true
	}
	res, ok := s.reader.answerAlone(b)
	if !ok {
		return false, false
	}
	fut, n := b.items[0].future, b.items[0].n
	if !s.p.endAlone(s, b) {
		s.reader.retired = b
		s.PassRead()
	}
	fut.Resolve(res, n) // runs no user code, because a caller waits for fut and res is no error
	return true, true
}

// exchange writes the batch of a caller that has both rights and reads the beginning of the answer, in
// one step: the wait is prepared before the write, which saves a read that would find nothing. It
// returns false if the wait was interrupted while the session lives on.
func (s *Session) exchange(ctx context.Context, b *batch) bool {
	s.FitReadBuffer()
	s.both, s.exchanged = false, b
	ended, _ := s.interruptibly(ctx, s.Dec.AwaitMore)
	if s.exchanged != nil { // nothing was written: the wait was interrupted first, or the socket has failed
		s.exchanged = nil
		if err := s.checker.Check(); err != nil {
			s.failCheck(err)
		}
		s.writeBatch(b)
	}
	return !ended || s.hasFailed()
}

// interruptibly calls wait, which reads from the socket. It interrupts wait when ctx is done or, if
// the caller is deaf, when the caller is told to listen. Then ended is set, and wait may be called
// again. Any other error of wait ends the session, and failed is set.
func (s *Session) interruptibly(ctx context.Context, wait func() error) (ended, failed bool) {
	var err error
	switch {
	case ctx.Done() == nil:
		err = wait()
	case s.reader.deaf:
		if ended, err = s.waitDeaf(wait); ended {
			return true, false
		}
	default:
		stop := context.AfterFunc(ctx, s.interrupt)
		if err = wait(); !stop() && s.wasInterrupted(err) {
			return true, false
		}
	}
	if err != nil {
		s.fail(redis.ErrIO.Wrap(err, "reading"))
	}
	return false, err != nil
}

// receive reads from the socket. If the batch of exchange is not written yet, receive writes it
// first.
func (s *Session) receive(p []byte) (int, error) {
	b := s.exchanged
	if b == nil {
		return s.parallel.read(s.Conn, p)
	}
	sent, n, err := s.raw.Exchange(b.buf, p)
	switch {
	case s.exchanged == nil: // the whole batch was written
		return n, err
	case err == sock.ErrUnsolicited:
		s.failCheck(err)
		return 0, err
	case err != nil:
		return 0, err
	}
	s.exchanged, b.sent = nil, sent
	s.wake <- b
	return s.parallel.read(s.Conn, p)
}

// exchangeWritten is called after the whole batch was written, and before the socket is read.
func (s *Session) exchangeWritten() {
	b := s.exchanged
	s.exchanged, b.sent = nil, len(b.buf)
	s.reader.next = b
	if s.p.queue.wrote(b) {
		s.wake <- nil
	}
	s.processor.yield()
}

// answerAlone decodes the reply to the only request of a batch and claims the request. It returns
// false unless exactly this reply has arrived, and completely.
func (r *reader) answerAlone(b *batch) (res any, ok bool) {
	if r.next != b || len(b.items) != 1 || r.s.beats.waiting.Load() {
		return nil, false
	}
	it := &b.items[0]
	if it.typed || it.observed || it.stat != nil {
		return nil, false
	}
	if res, ok = r.dec.DecodeAtHand(); !ok || !b.claimed.CompareAndSwap(0, 1) { // if it is claimed, the session has failed
		return nil, false
	}
	b.NoteFirstByte()
	r.next, r.answered = nil, it.seq+1
	return res, true
}

// endAlone takes the answered batch of a caller out of flight, and leaves the right to read to nobody.
// If other requests have entered, it does nothing and returns false.
func (q *queue) endAlone(s *Session, b *batch) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.session != s || q.head != b || q.tail != b || q.open != nil || q.writing || !b.written || b.internal > 0 || q.waiting.Len() > 0 || q.draining != nil {
		return false
	}
	q.head, q.tail, q.reading = nil, nil, readNobody
	q.pending--
	s.listens.Store(false)
	q.answered(b)
	return q.recycle(b)
}
