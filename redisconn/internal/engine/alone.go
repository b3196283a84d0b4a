package engine

import (
	"context"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/internal/sock"
	"github.com/joomcode/redispipe/internal/timing"
	"github.com/joomcode/redispipe/redis"
)

// This file is the path of a request whose caller is alone, from top to bottom: the caller's goroutine
// queues the request, writes it, waits, decodes the reply, and resolves its future. Everything unusual
// is handled elsewhere.

// Send enters one request, and writes it or leaves that to others, as [Pipe.Enter] does.
func (p *Pipe) Send(r *send.Request, cb redis.Future, n uint64) (refused *errorx.Error) {
	var s *Session
	var d duty
	entered := false
	if p.load.Load() <= 1 { // a quick test without the lock; enterAlone decides
		s, d, entered = p.enterAlone(r, cb, n)
	}
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

// enterAlone enters a request if its caller is alone and the queue would admit the request. It puts
// a batch of only this request in flight, and gives the caller both rights.
func (q *queue) enterAlone(r *send.Request, fut redis.Future, n uint64) (_ *Session, d duty, entered bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.admitsAlone(r) {
		return nil, 0, false
	}
	q.opened, q.postponed = timing.Clock(), postponed{}
	r.Ticket = send.Ticket{Queue: q, Seq: q.seq}
	q.seq++
	b := q.newBatch()
	b.buf, b.plain = append(b.buf, r.Buf...), r.Plain
	b.items = append(b.items, item{})
	it := &b.items[0] // filled in place: see nextItem
	it.future, it.n, it.seq, it.end, it.caller = fut, n, r.Ticket.Seq, len(b.buf), r.Caller
	it.typed, it.observed, it.plain = r.Typed, r.Observed, r.Plain
	if r.Done != nil && q.tells(r, q.opened) {
		r.Ticket.Tells, it.done = true, r.Done
		d = q.arrangeListen()
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

// readAlone is the part of ReadUntil for a caller that has both rights and must write before it
// reads. If the caller is alone, readAlone also waits for the reply and resolves the request.
// finished is set if ReadUntil has nothing left to do: the request is resolved, or ctx has ended.
func (s *Session) readAlone(ctx context.Context) (passed, finished bool) {
	b := s.takeFirst()
	if b == nil {
		s.flushBoth()
		return false, false
	}
	if !s.exchange(ctx, b) {
		return false, true
	}
	r := s.reader
	if !r.answerAlone() {
		return false, false
	}
	r.retired = nil // first, because another goroutine may own the reader after endAlone
	if !s.p.endAlone(s, b) {
		r.retired = b
		s.PassRead()
	}
	return true, true
}

// exchange writes the batch of a caller that has both rights and waits for the beginning
// of the answer, in one step: the wait is prepared before the write, which saves a read
// that would find nothing. It returns false if the wait was interrupted while the session lives on.
func (s *Session) exchange(ctx context.Context, b *batch) bool {
	s.both, s.exchanged = false, b
	ended, _ := s.interruptibly(ctx, s.waitExchanged)
	if s.exchanged != nil { // nothing was written: the wait was interrupted first, or the socket has failed
		s.exchanged = nil
		if err := s.checker.Check(); err != nil {
			s.failCheck(err)
		}
		s.writeBatch(b)
	}
	return !ended || s.hasFailed()
}

// waitExchanged is the wait of exchange: it writes the batch, unless that is done, and waits for
// the answer.
func (s *Session) waitExchanged() error {
	b := s.exchanged
	if b == nil { // an earlier call has written it, and was interrupted
		return s.Dec.AwaitMore()
	}
	n, err := s.raw.Exchange(b.buf)
	switch {
	case s.exchanged == nil && err == nil: // all of it was written, and something has come
		s.FitReadBuffer()
		return s.Dec.AwaitMore()
	case s.exchanged == nil:
		return err
	case err == sock.ErrUnsolicited:
		s.failCheck(err)
		return nil
	case err != nil && n == 0:
		return err
	}
	s.exchanged, b.sent = nil, n
	s.wake <- b
	return nil
}

// exchangeWritten is called when all of the batch was written, before the wait. It reports
// whether the server could have answered already.
func (s *Session) exchangeWritten() bool {
	b := s.exchanged
	s.exchanged, b.sent = nil, len(b.buf)
	s.reader.next = b
	if s.p.queue.wrote(b) {
		s.wake <- nil
	}
	return s.processor.yield()
}

// answerAlone resolves the only request of a batch, if exactly its whole reply has arrived. The caller
// then takes the batch out of flight, and passes the right on.
func (r *reader) answerAlone() bool {
	b := r.next
	if b == nil || len(b.items) != 1 || r.s.beats.waiting.Load() {
		return false
	}
	it := &b.items[0]
	if it.typed || it.observed || it.stat != nil {
		return false
	}
	res, ok := r.dec.DecodeAtHand()
	if !ok || !b.claim(0) { // if the item is already claimed, the session has failed
		return false
	}
	b.NoteFirstByte()
	r.next, r.retired, r.answered = nil, b, it.seq+1
	it.future.Resolve(res, it.n)
	return true
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
