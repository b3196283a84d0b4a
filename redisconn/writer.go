package redisconn

import (
	"errors"
	"os"
	"runtime"
	"time"

	"github.com/joomcode/redispipe/redis"
)

// flush does what the sender of a request has to do. It is not held by a socket
// that takes no bytes: what can't be written at once is left to the writer.
func (s *session) flush(d duty) {
	if d&dutyCheck != 0 && !s.connCheck() {
		return
	}
	if d&dutyWake != 0 { // before the write: a server may read no more until its replies are read
		s.readWake <- struct{}{}
	}
	if d&dutyWrite == 0 {
		return
	}
	if s.raw == nil && !(d&inFlightNone != 0 && s.checker != nil) {
		s.wake <- struct{}{}
		return
	}
	if !s.yield() {
		return
	}
	b, cancelled := s.c.queue.take()
	if b != nil {
		s.writeBatch(b)
	}
	s.c.resolveCancelled(cancelled)
	s.processor.yield()
}

// writeBatch writes a batch that the caller has taken, and gives up the right to
// write, or leaves it to the writer with what is left to write.
func (s *session) writeBatch(b *batch) {
	write := s.writeNow
	if s.raw == nil {
		if len(b.buf) > securedNow {
			s.partial = b
			s.wake <- struct{}{}
			return
		}
		write = s.writeBlocking
	}
	if write(b) && s.c.queue.wrote(b) {
		s.wake <- struct{}{}
	}
}

// yield lets the goroutines that are about to send do so, where that is worth
// it. It returns false if one of them has taken over the right to write.
func (s *session) yield() bool {
	if s.c.opts.WritePause < 0 {
		return true
	}
	mine := true
	for turn := s.c.queue.startYield(); turn != 0; {
		runtime.Gosched()
		mine, turn = s.c.queue.endYield(turn)
	}
	return mine
}

// writeNow writes the batch, or what the socket takes of it at once. It
// returns false if the right to write is gone.
func (s *session) writeNow(b *batch) bool {
	if s.hasFailed() {
		s.c.queue.release()
		return false
	}
	n, err := s.writeOnce(b.buf)
	b.sent = n
	switch {
	case err != nil:
		s.writeFailed(err)
		return false
	case n < len(b.buf):
		s.partial = b
		s.wake <- struct{}{}
		return false
	}
	return true
}

// securedNow is how many bytes a caller writes to a TLS connection by itself, if
// nothing is in flight: all that was written before has been read then, so that as much
// as the least send buffer of a system takes does not hold the caller.
const securedNow = 4 << 10

// writeLoop is the writer goroutine. It is started with the session, owns what
// wake passes to it, and ends with quit.
func (s *session) writeLoop() {
	ended := false
	defer func() {
		if !ended { // by a future that was asked whether it is cancelled
			go s.writeLoop()
		}
	}()
	for {
		select {
		case <-s.wake:
		case <-s.quit:
			ended = true
			return
		}
		s.writeAll()
		s.processor.yield()
	}
}

// writeAll writes until nothing is left to write.
func (s *session) writeAll() {
	b := s.partial
	s.partial = nil
	for {
		var cancelled []item
		if b == nil {
			if !s.yield() {
				return
			}
			b, cancelled = s.c.queue.take()
		}
		more := b != nil && s.writeBlocking(b) && s.c.queue.wrote(b)
		s.c.resolveCancelled(cancelled)
		if !more {
			return
		}
		b = nil
	}
}

// writeBlocking writes what is left of the batch. It returns false if the
// right to write is gone.
func (s *session) writeBlocking(b *batch) bool {
	if s.hasFailed() {
		s.c.queue.release()
		return false
	}
	n, err := s.writeWaiting(b.buf[b.sent:])
	if err != nil && s.raw == nil {
		n = len(b.buf) // how much of it left is anybody's guess
	}
	b.sent += n
	if err != nil {
		s.writeFailed(err)
		return false
	}
	return true
}

func (s *session) writeFailed(err error) {
	s.fail(redis.ErrIO.Wrap(err, "writing"))
	s.c.queue.release()
}

// longAgo is the deadline that ends a wait.
var longAgo = time.Unix(1, 0)

// writeOnce writes what the socket takes at once. It does not heed the deadline by which
// StopWrites ends a write that waits: this one does not wait. But it leaves it for one that
// would wait for the rest.
func (s *session) writeOnce(buf []byte) (n int, err error) {
	if n, err = s.raw.Write(buf); !errors.Is(err, os.ErrDeadlineExceeded) {
		return n, err
	}
	for errors.Is(err, os.ErrDeadlineExceeded) {
		_ = s.SetWriteDeadline(time.Time{})
		n, err = s.raw.Write(buf)
	}
	if n < len(buf) {
		_ = s.SetWriteDeadline(longAgo)
	}
	return n, err
}

// writeWaiting writes all, and waits until the socket takes it, or writes are stopped.
func (s *session) writeWaiting(buf []byte) (n int, err error) {
	if n, err = s.Conn.Write(buf); s.raw == nil || !errors.Is(err, os.ErrDeadlineExceeded) {
		return n, err
	}
	more, err := s.writeOnce(buf[n:])
	if n += more; err == nil && n < len(buf) {
		err = os.ErrDeadlineExceeded
	}
	return n, err
}
