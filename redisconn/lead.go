package redisconn

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/joomcode/redispipe/redis"
)

// The right to read is, like the right to write, held by one goroutine at a
// time. The reader has it, until it has answered a lone caller that waits for
// its result: then it rests, and the next such caller reads its own reply, as
// it would on a socket of its own. That saves two changes of goroutine, which
// is a third of the round trip on loopback. As soon as requests overlap, at each
// heartbeat, and when no caller has read for a while, the reader has the right
// again. Nobody watches the socket while it rests: who writes then looks first
// whether the server has closed it, or has sent what nobody asked for.
//
// With RESP3 the reader never rests, as what has come may begin with a push.

// restMost is how long the reader rests while no caller reads: so much later a
// connection that the server closes may be noticed. A hundred wake-ups a second
// beside a lone caller are too few to be measured.
const restMost = 10 * time.Millisecond

// errStray tells that something came that nobody asked for.
var errStray = errors.New("a reply that nobody asked for")

// leadsLocked decides whether a request that is about to enter is a lone one whose
// caller may read its own reply. If so the caller has the right to read.
func (q *queue) leadsLocked() bool {
	s := q.session
	if s == nil || s.raw == nil || q.fenced || q.reading || q.writing || q.head != nil || q.open != nil {
		return false
	}
	q.reading = alone(q.concurrency)
	q.led = q.led || q.reading
	return q.reading
}

// passRead gives up the right to read, if nothing is in flight and the next
// request may be one whose caller reads by itself. Else it returns false.
func (q *queue) passRead(s *session) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.session != s || q.head != nil || q.open != nil || q.writing || !q.leadable || !alone(q.concurrency) {
		return false
	}
	q.reading = false
	return true
}

// takeRead takes the right to read back, if no caller has had it since it was
// called last.
func (q *queue) takeRead(s *session) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.session != s || q.reading || q.led {
		q.led = false
		return false
	}
	q.reading = true
	return true
}

// rest lets callers read, until the right to read comes back. It returns false
// if the session has failed.
func (r *reader) rest() bool {
	if !r.mayRest || r.cur != nil || r.dec.Buffered() > 0 || !r.s.c.queue.passRead(r.s) {
		return true
	}
	r.resting.Reset(restMost)
	defer r.resting.Stop()
	for {
		select {
		case <-r.s.readWake:
			return true
		case <-r.s.failed:
			return false
		case <-r.resting.C:
			if r.s.c.queue.takeRead(r.s) {
				return true
			}
			r.resting.Reset(restMost)
		}
	}
}

// rouse passes the right to read to the reader, for a caller that is about to
// write. It returns false if the session has failed, and the right to write is gone.
func (s *session) rouse() bool {
	s.rouses = false
	quiet := s.look()
	s.readWake <- struct{}{}
	return quiet
}

// look looks at the socket, for who is about to write after nobody was reading. If
// it is not quiet the session has failed, and the right to write is gone.
func (s *session) look() (quiet bool) {
	err := s.raw.look()
	if err != nil {
		s.failQuiet(err)
		s.c.queue.release()
	}
	return err == nil
}

// failQuiet ends a session whose socket was not quiet, though nothing was asked.
func (s *session) failQuiet(err error) {
	if err == errStray {
		s.fail(redis.ErrResponseUnexpected.New("%s", errStray.Error()))
	} else {
		s.fail(redis.ErrIO.Wrap(err, "reading"))
	}
}

// Lead implements wire.Leader: it writes the batch, which the caller has the right
// to, and reads the one reply that is awaited, unless ctx ends first or the reply
// comes in pieces.
func (s *session) Lead(ctx context.Context) {
	rests := false
	defer func() {
		if !rests { // a future or the logger may have ended the goroutine
			s.readWake <- struct{}{}
		}
	}()
	r := s.reader
	b, cancelled := s.c.queue.take()
	s.c.resolveCancelled(cancelled)
	s.first = b
	quick := b != nil && r.await(ctx) && r.dec.Complete()
	if s.first != nil { // await was interrupted before it looked and wrote
		s.first = nil
		s.writeFirst(b)
	}
	rests = quick && r.answer() && r.cur == nil && r.dec.Buffered() == 0 && s.c.queue.passRead(s)
}

// writeFirst is flush for a batch that is taken already, while nobody reads.
func (s *session) writeFirst(b *batch) {
	if s.look() && s.writeNow(b) && s.c.queue.wrote(b) {
		s.wake <- struct{}{}
	}
}

// firstWritten is called by the raw writer when all of first was written.
func (s *session) firstWritten() {
	b := s.first
	s.first, b.sent = nil, len(b.buf)
	if s.c.queue.wrote(b) {
		s.wake <- struct{}{}
	}
}

// readFirst is Read for a caller that leads: it writes first, and then reads.
func (s *session) readFirst(p []byte) (int, error) {
	b := s.first
	n, sent, err := s.raw.exchange(b.buf, p)
	switch {
	case sent:
		return n, err
	case err == errStray:
		s.failQuiet(err)
		return 0, err
	case err != nil && n == 0:
		return 0, err // nothing is written: Lead sees to first
	}
	s.first, b.sent = nil, n
	s.rest = b
	s.wake <- struct{}{}
	return s.conn.Read(p)
}

// await waits for a reply. It returns false if ctx ends first.
func (r *reader) await(ctx context.Context) bool {
	var stop func() bool
	if ctx.Done() != nil {
		stop = context.AfterFunc(ctx, r.interrupt)
	}
	err := r.dec.Await()
	if stop != nil && !stop() {
		<-r.interrupted
		_ = r.s.conn.SetReadDeadline(time.Time{})
	}
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		r.s.fail(redis.ErrIO.Wrap(err, "reading"))
	}
	return err == nil
}

// interrupt ends await.
func (r *reader) interrupt() {
	_ = r.s.conn.SetReadDeadline(time.Unix(1, 0))
	r.interrupted <- struct{}{}
}
