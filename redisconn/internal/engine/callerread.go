package engine

import (
	"context"
	"runtime/debug"
)

// ReadUntil implements send.Reader: in the goroutine of a caller it reads the replies up to the caller's
// own last one, and resolves their requests.
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
			r.leave()
		}
		if v := recover(); v != nil {
			passed = true
			s.p.opts.Panicked(v, debug.Stack())
		}
	}()
	if s.both {
		s.flushBoth()
	}
	if r.next == nil && s.p.queue.tookBack() { // if next is set, the caller itself has just written its batch
		finished = true
		s.PassRead()
		return true
	}
	for r.until = last + 1; r.answered <= last; {
		switch r.awaitReply(ctx) {
		case replyTooLarge: // such a wait can't be interrupted, so the loop must read the reply
			return true
		case replyNever:
			finished = true
			return false
		}
		if !r.answer() {
			finished = true // the session has failed
			r.leave()
			return true
		}
	}
	finished = true
	s.PassRead()
	return true
}

// settle takes the batch in r.retired, if any, out of flight. The caller keeps the right to read.
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
	replyNever               // the context has ended, or a deaf caller is told to listen
	replyTooLarge            // the reply does not fit into the buffer
)

// awaitReply waits until the next reply is buffered. It consumes nothing, so the wait can be
// interrupted, and another goroutine can continue it. If ctx can't end, awaitReply returns at once,
// and decoding waits instead.
func (r *reader) awaitReply(ctx context.Context) replyState {
	if ctx.Done() == nil {
		return replyReady
	}
	for !r.dec.Complete() {
		if r.dec.Buffered() > 0 {
			_, _ = r.current() // notes that the answer has begun
			if r.dec.Full() && !r.s.GrowReadBuffer() {
				return replyTooLarge
			}
		}
		switch ended, failed := r.s.interruptibly(ctx, r.dec.AwaitMore); {
		case ended:
			return replyNever
		case failed:
			return replyReady // decoding fails at once
		}
	}
	return replyReady
}

// flushBoth writes for a caller that has both rights. Only the batch that it writes is in flight.
func (s *Session) flushBoth() {
	s.both = false
	d := mustWrite
	if s.reader.canIdle { // if the reader can't idle, unread bytes may be pushes, which are allowed
		d |= mustCheck
	}
	s.flush(d)
}

// PassRead implements send.Reader.
func (s *Session) PassRead() {
	if s.both { // the caller has not written yet
		s.flushBoth()
	}
	r := s.reader
	mayIdle, retired := r.canIdle, r.retired
	if retired == nil { // if retired is set, finish has checked what mayIdle checks
		mayIdle = r.mayIdle()
	}
	r.retired, r.until = nil, 0
	switch loop, kept := s.p.queue.passRead(s, mayIdle, retired); {
	case loop:
		s.readWake <- struct{}{}
	case kept:
		r.leave()
	}
}
