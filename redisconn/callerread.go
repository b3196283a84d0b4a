package redisconn

import (
	"context"
	"errors"
	"os"
	"runtime/debug"
	"time"

	"github.com/joomcode/redispipe/internal/sock"
	"github.com/joomcode/redispipe/redis"
)

// ReadUntil implements wire.Reader. It reads and resolves what is in flight in the
// goroutine of a caller, up to the caller's own last request.
func (s *session) ReadUntil(ctx context.Context, last uint64) (passed bool) {
	r := s.reader
	finished := false
	defer func() { // what is the user's, as a logger, may panic or end the goroutine
		if finished {
			return
		}
		s.c.queue.loopReads(s)
		s.readWake <- struct{}{}
		if v := recover(); v != nil {
			passed = true
			s.c.report(LogFuturePanic{Value: v, Stack: debug.Stack()})
		}
	}()
	if s.unwritten && !s.writeFirst(ctx) {
		finished = true
		return false
	}
	if s.c.queue.tookBack() {
		finished = true
		s.PassRead()
		return true
	}
	for r.answered <= last {
		switch r.awaitReply(ctx) {
		case replyTooLarge: // waiting for it can't be interrupted
			return true
		case replyNever:
			finished = true
			return false
		}
		if !r.answer() {
			finished = true // the session has failed
			return true
		}
	}
	for extraReplies(int(s.c.queue.load.Load())) && r.dec.Complete() && r.nextWaits() {
		if !r.answer() {
			break
		}
	}
	finished = true
	s.PassRead()
	return true
}

// PassRead implements wire.Reader.
func (s *session) PassRead() {
	if s.unwritten { // the caller has not come to write
		defer s.PassRead() // also if a future that is asked whether it is cancelled ends the goroutine
		s.flushUnwritten()
		return
	}
	if s.c.queue.passRead(s, s.reader.mayIdle()) {
		s.readWake <- struct{}{}
	}
}

// replyState is what became of waiting for a reply.
type replyState uint8

const (
	replyReady    replyState = iota
	replyNever               // the context has ended
	replyTooLarge            // it does not fit into the buffer
)

// awaitReply waits until the next reply can be decoded without waiting. It consumes
// nothing, so that the wait can be interrupted and continued by another goroutine. With
// a context that can't end it does not wait: decoding may.
func (r *reader) awaitReply(ctx context.Context) replyState {
	if ctx.Done() == nil {
		return replyReady
	}
	for !r.dec.Complete() {
		if b, _ := r.current(); b != nil && r.dec.Buffered() > 0 {
			r.answerBegins(b)
		}
		if r.dec.Full() {
			return replyTooLarge
		}
		if !r.s.interruptibly(ctx, r.dec.AwaitMore) {
			return replyNever
		}
		if r.s.hasFailed() {
			return replyReady // decoding it fails at once
		}
	}
	return replyReady
}

// interruptibly calls wait, which reads from the socket, until ctx is done. It returns
// false if ctx has ended the wait. Errors, also of a deadline that is not ours, end the
// session.
func (s *session) interruptibly(ctx context.Context, wait func() error) bool {
	var stop func() bool
	if ctx.Done() != nil {
		stop = context.AfterFunc(ctx, s.interrupt)
	}
	err := wait()
	ended := stop != nil && !stop()
	if ended {
		<-s.interrupted
		_ = s.SetReadDeadline(time.Time{})
	}
	switch {
	case err == nil:
	case ended && errors.Is(err, os.ErrDeadlineExceeded):
		return false
	default:
		s.fail(redis.ErrIO.Wrap(err, "reading"))
	}
	return true
}

// interrupt ends a wait.
func (s *session) interrupt() {
	_ = s.SetReadDeadline(longAgo)
	s.interrupted <- struct{}{}
}

// writeFirst writes for a caller that has both rights: in one step with waiting for the
// reply, if it is alone and nothing but replies can come. It returns false if ctx ended,
// and the session lives.
func (s *session) writeFirst(ctx context.Context) bool {
	if s.raw != nil && s.reader.canIdle && alone(int(s.c.queue.load.Load())) {
		return s.exchange(ctx)
	}
	s.flushUnwritten()
	return true
}

// flushUnwritten is flush for a caller that has both rights: nothing is in flight then.
func (s *session) flushUnwritten() {
	s.unwritten = false
	d := dutyWrite | inFlightNone
	if s.reader.canIdle { // else there may be bytes that are no reply
		d |= dutyCheck
	}
	s.flush(d)
}

// exchange writes the batch of a caller that has both rights, and waits for the
// answer to begin. The wait is prepared before the write, which saves a read that would
// find nothing. It returns false if ctx has ended while the session lives on.
func (s *session) exchange(ctx context.Context) bool {
	s.unwritten = false
	b, cancelled := s.c.queue.take()
	defer s.c.resolveCancelled(cancelled)
	if b == nil {
		return true
	}
	s.exchanged = b
	ok := s.interruptibly(ctx, s.waitExchanged)
	if s.exchanged != nil { // interrupted, or the socket has failed, before it wrote
		s.exchanged = nil
		if err := s.checker.Check(); err != nil {
			s.failCheck(err)
		}
		s.writeBatch(b)
	}
	return ok || s.hasFailed()
}

// waitExchanged is exchange's wait.
func (s *session) waitExchanged() error {
	b := s.exchanged
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
	s.exchanged, b.sent, s.partial = nil, n, b
	s.wake <- struct{}{}
	return nil
}

// exchangeWritten is called when all of the batch was written, before the wait.
func (s *session) exchangeWritten() {
	b := s.exchanged
	s.exchanged, b.sent = nil, len(b.buf)
	if s.c.queue.wrote(b) {
		s.wake <- struct{}{}
	}
}
