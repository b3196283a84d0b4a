package engine

import (
	"context"
	"time"

	"github.com/joomcode/redispipe/internal/sock"
)

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
