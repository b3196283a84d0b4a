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
// is a third of the round trip on loopback. As soon as requests overlap, and
// at each heartbeat, the reader has the right again.

// leads decides whether a request that is about to enter is a lone one whose
// caller may read its own reply. If so the caller has the right to read.
func (q *queue) leadsLocked() bool {
	s := q.session
	if s == nil || s.raw == nil || q.fenced || q.reading || q.writing || q.head != nil || q.open != nil {
		return false
	}
	q.reading = alone(q.concurrency)
	return q.reading
}

// passRead gives up the right to read, if nothing is in flight and the next
// request may be one whose caller reads by itself. Else it returns false.
func (q *queue) passRead(s *session) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.session != s || q.head != nil || !q.leadable || !alone(q.concurrency) {
		return false
	}
	q.reading = false
	return true
}

// rest lets callers read, until the right to read comes back. It returns false
// if the session has failed.
func (r *reader) rest() bool {
	if r.cur != nil || r.s.raw == nil || r.dec.Buffered() > 0 || !r.s.c.queue.passRead(r.s) {
		return true
	}
	select {
	case <-r.s.readWake:
		return true
	case <-r.s.failed:
		return false
	}
}

// Lead implements wire.Leader: it reads the one reply that is awaited, unless
// ctx ends first or the reply comes in pieces.
func (s *session) Lead(ctx context.Context) {
	r := s.reader
	if !r.await(ctx) || !r.dec.Complete() {
		s.readWake <- struct{}{}
		return
	}
	if r.answer() && r.cur == nil && r.dec.Buffered() == 0 && s.c.queue.passRead(s) {
		return
	}
	s.readWake <- struct{}{}
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

// checkQuiet fails the session if the server has closed the connection, or has
// sent what nobody asked for, while nobody was reading.
func (s *session) checkQuiet() {
	switch head, n, err := s.raw.peek(); {
	case err != nil:
		s.fail(redis.ErrIO.Wrap(err, "reading"))
	case n > 0 && head != '>':
		s.fail(redis.ErrResponseUnexpected.New("a reply that nobody asked for"))
	}
}
