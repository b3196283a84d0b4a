package pipe

import (
	"context"

	"github.com/joomcode/redispipe/internal/peer"
	"github.com/joomcode/redispipe/internal/queue"
)

// writeFirst writes for a caller that has both rights. If the caller is alone, and
// nothing but replies can come, it writes and waits for the reply in one step. It returns
// false if ctx has ended while the session lives on.
func (s *Session) writeFirst(ctx context.Context) bool {
	if b := s.TakeFirst(); b != nil {
		s.Both = false
		return s.exchange(ctx, b)
	}
	s.flushBoth()
	return true
}

// flushBoth is flush for a caller that has both rights: nothing is in flight but the batch
// that it is to write.
func (s *Session) flushBoth() {
	s.Both = false
	d := queue.MustWrite | queue.InFlightNone
	if s.reader.canIdle { // otherwise bytes that are no reply may be there
		d |= queue.MustCheck
	}
	s.flush(d)
}

// exchange writes the batch of a caller that has both rights and waits for the beginning
// of the answer, in one step: the wait is prepared before the write, which saves a read
// that would find nothing. It returns false if ctx has ended while the session lives on.
func (s *Session) exchange(ctx context.Context, b *queue.Batch) bool {
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
func (s *Session) waitExchanged() error {
	b := s.exchanged
	if b == nil { // it was interrupted after it had written
		return s.Dec.AwaitMore()
	}
	n, err := s.raw.Exchange(b.Buf)
	switch {
	case s.exchanged == nil: // all of it was written
		return err
	case err == peer.ErrUnsolicited:
		s.failCheck(err)
		return nil
	case err != nil && n == 0:
		return err
	}
	s.exchanged, b.Sent = nil, n
	s.Wake <- b
	return nil
}

// exchangeWritten is called when all of the batch was written, before the wait.
func (s *Session) exchangeWritten() {
	b := s.exchanged
	s.exchanged, b.Sent = nil, len(b.Buf)
	s.reader.next = b
	if s.p.queue.Wrote(b) {
		s.Wake <- nil
	}
}
