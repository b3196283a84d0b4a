package engine

import (
	"context"
	"errors"
	"os"
	"runtime/debug"
	"time"

	"github.com/joomcode/redispipe/internal/sock"
	"github.com/joomcode/redispipe/redis"
)

// ReadUntil implements send.Reader. It reads and resolves what is in flight in the
// goroutine of a caller, up to the caller's own last request.
func (s *Session) ReadUntil(ctx context.Context, last uint64, deaf bool) (passed bool) {
	r := s.reader
	r.deaf = deaf
	finished := false
	defer func() { // a user's function, such as a logger, may panic or end the goroutine
		if finished {
			return
		}
		r.settle()
		if s.p.queue.loopReads(s) {
			s.readWake <- struct{}{}
		} else {
			r.countPart()
		}
		if v := recover(); v != nil {
			passed = true
			s.p.opts.Panicked(v, debug.Stack())
		}
	}()
	if s.both && !s.writeFirst(ctx) {
		finished = true
		return false
	}
	if r.next == nil && s.p.queue.tookBack() { // otherwise it has written just now
		finished = true
		s.PassRead()
		return true
	}
	for r.until = last + 1; r.answered <= last; {
		switch r.awaitReply(ctx) {
		case replyTooLarge: // waiting for it can't be interrupted
			return true
		case replyNever:
			finished = true
			return false
		}
		if !r.answer() {
			finished = true // the session has failed
			r.countPart()
			return true
		}
	}
	finished = true
	s.PassRead()
	return true
}

// passRead implements send.Reader.
func (s *Session) PassRead() {
	if s.both { // the caller has not written yet
		s.flushBoth()
	}
	r := s.reader
	mayIdle, retired := r.canIdle, r.retired
	if retired == nil { // otherwise nothing has come that is not answered: see finish
		mayIdle = r.mayIdle()
	}
	r.retired, r.until = nil, 0
	switch loop, kept := s.p.queue.passRead(s, mayIdle, retired); {
	case loop:
		s.readWake <- struct{}{}
	case kept:
		r.countPart()
	}
}

// settle takes an answered batch out of flight. The caller keeps the right to read.
func (r *reader) settle() {
	if b := r.retired; b != nil {
		r.cur = r.s.p.queue.retire(b, r.dec.Buffered() > 0)
	}
	r.retired, r.until = nil, 0
}

// replyState is the outcome of waiting for a reply.
type replyState uint8

const (
	replyReady    replyState = iota
	replyNever               // the context has ended
	replyTooLarge            // it does not fit into the buffer
)

// awaitReply waits until the next reply is buffered. It consumes nothing, so the wait can
// be interrupted, and continued by another goroutine. With a context that can't end it
// does not wait: then decoding may wait.
func (r *reader) awaitReply(ctx context.Context) replyState {
	if ctx.Done() == nil {
		return replyReady
	}
	for !r.dec.Complete() {
		if r.dec.Buffered() > 0 {
			_, _ = r.current() // its answer has begun
			if r.dec.Full() {
				return replyTooLarge
			}
		}
		switch ended, failed := r.s.interruptibly(ctx, r.dec.AwaitMore); {
		case ended:
			return replyNever
		case failed:
			return replyReady // decoding it fails at once
		}
	}
	return replyReady
}

// interruptibly calls wait, which reads from the socket, until ctx is done. ended is set if ctx
// has ended the wait: then wait may be called again. Any other error, also of somebody else's
// deadline, ends the session: then failed is set.
func (s *Session) interruptibly(ctx context.Context, wait func() error) (ended, failed bool) {
	var err error
	waited := true
	switch {
	case ctx.Done() == nil:
		err = wait()
	case s.reader.deaf:
		waited, err = s.waitDeaf(wait)
		s.reader.deaf = waited
	default:
		waited = false
	}
	if !waited {
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

// waitDeaf calls wait, and returns false if the caller is told to listen before that has
// returned. Most replies come earlier, and watching a context takes as long as a small
// request.
func (s *Session) waitDeaf(wait func() error) (waited bool, err error) {
	n := s.waits.Add(1)
	if !s.listens.Load() {
		waited, err = true, wait()
	}
	if !s.waits.CompareAndSwap(n, n+1) && s.wasInterrupted(err) {
		return false, nil
	}
	return waited, err
}

// interruptDeaf ends the wait of a caller that is deaf, if there is one.
func (s *Session) interruptDeaf() {
	if n := s.waits.Load(); n%2 != 0 && s.waits.CompareAndSwap(n, n+1) {
		s.interrupt()
	}
}

// interrupt ends a wait.
func (s *Session) interrupt() {
	_ = s.SetReadDeadline(sock.LongAgo)
	s.interrupted <- struct{}{}
}

// wasInterrupted makes the socket wait again after interrupt was called, and reports whether
// that has ended a wait with err.
func (s *Session) wasInterrupted(err error) bool {
	<-s.interrupted
	_ = s.SetReadDeadline(time.Time{})
	return errors.Is(err, os.ErrDeadlineExceeded)
}

// writeFirst writes for a caller that has both rights. If the caller is alone, and
// nothing but replies can come, it writes and waits for the reply in one step. It returns
// false if ctx has ended while the session lives on.
func (s *Session) writeFirst(ctx context.Context) bool {
	if b := s.takeFirst(); b != nil {
		s.both = false
		return s.exchange(ctx, b)
	}
	s.flushBoth()
	return true
}

// flushBoth is flush for a caller that has both rights: nothing is in flight but the batch
// that it is to write.
func (s *Session) flushBoth() {
	s.both = false
	d := mustWrite
	if s.reader.canIdle { // otherwise bytes that are no reply may be there
		d |= mustCheck
	}
	s.flush(d)
}

// exchange writes the batch of a caller that has both rights and waits for the beginning
// of the answer, in one step: the wait is prepared before the write, which saves a read
// that would find nothing. It returns false if ctx has ended while the session lives on.
func (s *Session) exchange(ctx context.Context, b *batch) bool {
	s.exchanged = b
	ended, _ := s.interruptibly(ctx, s.waitExchanged)
	if s.exchanged != nil { // interrupted, or the socket has failed, before it wrote
		s.exchanged = nil
		if err := s.checker.Check(); err != nil {
			s.failCheck(err)
		}
		s.writeBatch(b)
	}
	return !ended || s.hasFailed()
}

// waitExchanged is exchange's wait.
func (s *Session) waitExchanged() error {
	b := s.exchanged
	if b == nil { // it was interrupted after it had written
		return s.Dec.AwaitMore()
	}
	n, err := s.raw.Exchange(b.buf)
	switch {
	case s.exchanged == nil: // all of it was written
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

// mayIdle reports whether the right to read may be left to nobody while nothing is pending:
// whatever comes then, connCheck notices later. If something has come although nothing is
// pending, it ends the session.
func (r *reader) mayIdle() bool {
	if !r.canIdle {
		return false
	}
	buffered := r.dec.Buffered() > 0
	if r.s.raw != nil && !buffered {
		return true
	}
	if !r.s.p.queue.idle() {
		return false // what was pending may have been taken back
	}
	err := sock.ErrUnsolicited
	if !buffered {
		err = r.s.readRecords(-time.Second) // what TLS has in a buffer of its own
	}
	if err != nil {
		r.s.failCheck(err)
	}
	return true
}
