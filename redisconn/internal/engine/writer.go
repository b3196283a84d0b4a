package engine

import (
	"errors"
	"os"
	"runtime"
	"time"

	"github.com/joomcode/redispipe/internal/sock"
	"github.com/joomcode/redispipe/redis"
)

// flush does the duty of a request's sender. It never waits for the socket: the writer goroutine
// writes what can't be written at once.
func (s *Session) flush(d duty) {
	if d&mustCheck != 0 && !s.connCheck() {
		return
	}
	if d&mustWake != 0 { // wake the reader first: a server may stop reading until its replies are read
		s.readWake <- struct{}{}
	}
	if d&mustWrite == 0 {
		return
	}
	if s.checker == nil {
		s.wake <- nil
		return
	}
	if b, _ := s.next(s.takeFirst(), true); b != nil {
		s.writeBatch(b)
	}
	s.processor.yield()
}

// next returns the batch to write: b or, if b is nil, the open batch. Before it takes the open
// batch, it may let other goroutines add their requests. It returns nil if the right to write is
// lost. sender is set unless the writer goroutine calls it. A sender does not ask futures whether
// they are cancelled, because a future could end the sender's goroutine. That hardly matters,
// because these requests have just entered.
func (s *Session) next(b *batch, sender bool) (_ *batch, cancelled []cancelledItem) {
	if b != nil {
		return b, nil
	}
	if !s.yield(sender) {
		return nil, nil
	}
	return s.p.queue.take(!sender)
}

// writeBatch writes a batch that the caller has taken. Then it releases the right to write, or
// passes it to the writer goroutine together with the rest of the batch.
func (s *Session) writeBatch(b *batch) {
	if s.raw == nil && b.unread > securedNow {
		s.wake <- b
		return
	}
	if s.write(b, s.raw == nil) && s.p.queue.wrote(b) {
		s.wake <- nil
	}
}

// yield lets goroutines that are about to send run first, if that is worth it. It returns false if
// another goroutine has taken over the right to write.
func (s *Session) yield(sender bool) bool {
	if !s.p.opts.Yields {
		return true
	}
	mine := true
	for turn := s.p.queue.startYield(); turn != 0; {
		runtime.Gosched()
		mine, turn = s.p.queue.endYield(turn, sender)
	}
	return mine
}

// write writes the rest of the batch. If waits is not set, it writes only what the socket takes at
// once, and passes the rest to the writer goroutine. It returns false if the right to write is
// lost.
func (s *Session) write(b *batch, waits bool) bool {
	if s.hasFailed() {
		s.p.queue.release()
		return false
	}
	var n int
	var err error
	if left := b.buf[b.sent:]; waits {
		n, err = s.writeWaiting(left)
	} else {
		n, err = s.writeOnce(left)
	}
	b.sent += n
	switch {
	case err != nil:
		if s.raw == nil {
			b.sent = len(b.buf) // it is unknown how much was sent, so all of it counts as sent
		}
		s.fail(redis.ErrIO.Wrap(err, "writing"))
		s.p.queue.release()
		return false
	case !waits && b.sent < len(b.buf):
		s.wake <- b
		return false
	}
	return true
}

// securedNow bounds what a sender writes to a TLS connection itself. If the bytes in flight and the
// new batch together are more, the writer goroutine writes the batch. The system's send buffer takes
// this many bytes without blocking.
const securedNow = 16 << 10

// writeLoop is the writer goroutine. It is started with the session, owns the batches that it gets
// from wake, and ends with quit.
func (s *Session) writeLoop() {
	ended := false
	defer func() {
		if !ended { // a future ended this goroutine when it was asked whether it is cancelled
			go s.writeLoop()
		}
	}()
	for {
		var b *batch
		select {
		case b = <-s.wake:
		case <-s.quit:
			ended = true
			return
		}
		s.writeAll(b)
		s.processor.yield()
	}
}

// writeAll writes b, if it is not nil, and then open batches until there are none.
func (s *Session) writeAll(b *batch) {
	for more := true; more; b = nil {
		var cancelled []cancelledItem
		b, cancelled = s.next(b, false)
		more = b != nil && s.write(b, true) && s.p.queue.wrote(b)
		s.p.resolveCancelled(cancelled)
	}
}

// writeOnce writes what the socket takes at once. It does not wait, so it ignores the deadline by
// which StopWrites ends waiting writes, and leaves it in place for the write of the rest.
func (s *Session) writeOnce(buf []byte) (n int, err error) {
	if n, err = s.raw.Write(buf); !errors.Is(err, os.ErrDeadlineExceeded) {
		return n, err
	}
	for errors.Is(err, os.ErrDeadlineExceeded) {
		_ = s.SetWriteDeadline(time.Time{})
		n, err = s.raw.Write(buf)
	}
	if n < len(buf) {
		_ = s.SetWriteDeadline(sock.LongAgo)
	}
	return n, err
}

// writeWaiting writes everything, and waits until the socket takes it or writes are stopped. It
// counts the bytes taken, which distinguish a slow socket from a stuck one.
func (s *Session) writeWaiting(buf []byte) (n int, err error) {
	for n < len(buf) && err == nil {
		var took int
		took, err = s.writePart(buf[n:])
		s.taken.Add(int64(took))
		n += took
	}
	if s.raw == nil || !errors.Is(err, os.ErrDeadlineExceeded) {
		return n, err
	}
	more, err := s.writeOnce(buf[n:])
	if n += more; err == nil && n < len(buf) {
		err = os.ErrDeadlineExceeded
	}
	return n, err
}

// writePart waits until the socket takes some of buf, which is not empty, and writes that. Without
// a raw socket, as with TLS, it writes at most one TLS record.
func (s *Session) writePart(buf []byte) (n int, err error) {
	if s.raw != nil {
		return s.raw.WriteSome(buf)
	}
	return s.Conn.Write(buf[:min(len(buf), recordMost)])
}

// recordMost is the greatest number of bytes in a TLS record.
const recordMost = 16 << 10
