package pipe

import (
	"context"
	"errors"
	"os"
	"runtime/debug"
	"time"

	"github.com/joomcode/redispipe/internal/queue"
	"github.com/joomcode/redispipe/redis"
)

// ReadUntil implements wire.Reader. It reads and resolves what is in flight in the
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
		s.p.queue.LoopReads(&s.Session)
		s.readWake <- struct{}{}
		if v := recover(); v != nil {
			passed = true
			s.p.opts.Panicked(v, debug.Stack())
		}
	}()
	if s.Both && !s.writeFirst(ctx) {
		finished = true
		return false
	}
	if s.tookBack() {
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
			return true
		}
	}
	for queue.ExtraReplies(s.p.queue.Load()) && r.dec.Complete() && r.nextWaits() {
		if !r.answer() {
			break
		}
	}
	finished = true
	s.PassRead()
	return true
}

// PassRead implements wire.Reader.
func (s *Session) PassRead() {
	if s.Both { // the caller has not written yet
		defer s.PassRead() // even if a future's Cancelled ends the goroutine
		s.flushBoth()
		return
	}
	r := s.reader
	mayIdle, retired := r.mayIdle(), r.retired
	r.retired, r.until = nil, 0
	if s.p.queue.PassRead(&s.Session, mayIdle, retired) {
		s.readWake <- struct{}{}
	}
}

// settle takes an answered batch out of flight. The caller keeps the right to read.
func (r *reader) settle() {
	if b := r.retired; b != nil {
		r.cur = r.s.p.queue.Retire(b, r.dec.Buffered() > 0)
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

// longAgo is the deadline that ends a wait.
var longAgo = time.Unix(1, 0)

// interruptibly calls wait, which reads from the socket, until ctx is done. It returns
// false if ctx has ended the wait. Any other error, also of somebody else's deadline,
// ends the session. After an interruption wait may be called again.
func (s *Session) interruptibly(ctx context.Context, wait func() error) bool {
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
			return false
		}
	}
	if err != nil {
		s.Fail(redis.ErrIO.Wrap(err, "reading"))
	}
	return true
}

// waitDeaf calls wait, and returns false if the caller is told to listen before that has
// returned. Most replies come earlier, and watching a context takes as long as a small
// request.
func (s *Session) waitDeaf(wait func() error) (waited bool, err error) {
	n := s.waits.Add(1)
	if !s.Listens.Load() {
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
	_ = s.SetReadDeadline(longAgo)
	s.interrupted <- struct{}{}
}

// wasInterrupted makes the socket wait again after interrupt was called, and reports whether
// that has ended a wait with err.
func (s *Session) wasInterrupted(err error) bool {
	<-s.interrupted
	_ = s.SetReadDeadline(time.Time{})
	return errors.Is(err, os.ErrDeadlineExceeded)
}
