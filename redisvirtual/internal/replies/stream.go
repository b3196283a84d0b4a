package replies

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/prefix"
	"github.com/joomcode/redispipe/redis"
)

// Terms are the settings that all virtual connections to the same servers share.
type Terms struct {
	Protocol int    // the protocol of the replies, 2 or 3
	Several  bool   // there are several servers, and requests are routed by their keys
	Hooks    []Hook // the hooks around the sender, the outermost first
	// Prefix is added to the keys of requests when a flight is pushed, and removed from the names in replies. It
	// may be empty.
	Prefix prefix.Prefix
}

// Stream is the stream that one client reads. The client calls Read and sets deadlines; any goroutine
// may call Close and Closed; the writer, which sends the client's requests, calls the other methods.
type Stream struct {
	terms *Terms

	mu         sync.Mutex    // guards the fields below, and the fields of flights whose comments say so
	head, tail *Flight       // the flights not read yet, in order
	unresolved int           // the number of requests in flight
	settling   chan struct{} // closed when unresolved is 0; nil if nobody waits for that
	failed     *errorx.Error // why a request has no reply; nil if all have one or may still get one
	// ran: since the client last wrote with no reply left to read, a request was answered or may have run.
	ran     bool
	serving bool        // see Serving
	ended   bool        // the connection ends after the replies
	closed  atomic.Bool // set under mu
	own     net.Conn    // the client's separate socket, which it reads after the replies; may be nil
	ctx     context.Context
	cancel  context.CancelFunc

	readers         int // readers that wait for wake
	wake            chan struct{}
	readBy, writeBy time.Time
	alarm           *time.Timer
	alarmed         time.Time   // when alarm rings, zero if it is not set
	waits           int         // running calls of Await
	overdue         *time.Timer // closes the stream at writeBy; nil if no Await is running or there is no deadline
	late            bool        // overdue has closed the stream
}

// Init initializes a stream.
func (s *Stream) Init(terms *Terms) { s.terms, s.wake = terms, make(chan struct{}, 1) }

// Close ends waiting reads and writes, and closes the separate socket, if there is one.
func (s *Stream) Close() error {
	s.mu.Lock()
	return s.closeAndUnlock(false)
}

func (s *Stream) closeAndUnlock(late bool) error {
	if s.closed.Swap(true) {
		s.mu.Unlock()
		return net.ErrClosed
	}
	s.late = late
	s.settledLocked()
	if s.alarm != nil {
		s.alarm.Stop()
	}
	own, cancel := s.own, s.cancel
	s.head, s.tail = nil, nil
	s.wakeReaderLocked()
	s.mu.Unlock()
	if cancel != nil {
		cancel()
	}
	if own != nil {
		return own.Close()
	}
	return nil
}

// Closed reports whether the stream was closed.
func (s *Stream) Closed() bool { return s.closed.Load() }

// Context returns a context that Close ends.
func (s *Stream) Context() context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx == nil {
		s.ctx, s.cancel = context.WithCancel(context.Background())
		if s.closed.Load() {
			s.cancel()
		}
	}
	return s.ctx
}

// Writable returns an error if the client can't write any more. If wanted is false, the writer must drop the
// data: an earlier request has failed, and the connection ends after the last reply. Call it once for each Write.
func (s *Stream) Writable() (wanted bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed.Load():
		err = s.closedLocked(s.mayHaveRunLocked())
	case s.ended:
		err = net.ErrClosed
	case s.failed != nil && s.unresolved == 0:
		err = s.failureLocked()
	case s.passedLocked(s.writeBy):
		err = expired{sent: s.unresolved > 0 || s.serving || s.head != nil && s.ran}
	case s.failed == nil && s.unresolved == 0 && !s.serving && s.head == nil:
		s.ran = false
	}
	return s.failed == nil, err
}

// Serving records whether the writer has accepted requests of the client that it has not sent yet. If a
// deadline passes then, the client can't know whether they run.
func (s *Stream) Serving(yes bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.serving = yes
}

// Answer appends a reply that the library itself gives.
func (s *Stream) Answer(frame []byte) {
	f := s.NewFlight()
	r := f.AddReply()
	r.frame, r.done = append(r.frame[:0], frame...), true
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pushLocked(f)
	s.wakeReaderLocked()
}

func (s *Stream) pushLocked(f *Flight) {
	switch {
	case s.closed.Load():
		return
	case s.head == nil:
		s.head = f
	default:
		s.tail.next = f
	}
	s.tail = f
}

// resolved records that request n of a flight is resolved: by a reply or, if r.lost is set, without one.
func (s *Stream) resolved(f *Flight, r *reply, n int) {
	s.mu.Lock()
	r.done = true
	s.unresolved--
	lost := r.lost != nil
	if !lost || !r.lost.HasTrait(redis.ErrTraitNotSent) {
		s.ran = true
	}
	if lost && (s.failed == nil || s.failed.HasTrait(redis.ErrTraitNotSent)) {
		s.failed = r.lost
	}
	if s.unresolved == 0 {
		s.settledLocked()
	}
	wakes := s.readers > 0 && (f == s.head && n == f.read || s.unresolved == 0 && s.failed != nil)
	s.mu.Unlock()
	if wakes { // after the unlock, because the woken reader takes the lock
		s.wakeReader()
	}
}

// settledLocked wakes Settle.
func (s *Stream) settledLocked() {
	if s.settling != nil {
		close(s.settling)
		s.settling = nil
	}
}

// Settle waits until no request is in flight. It returns false if the connection has ended.
func (s *Stream) Settle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.unresolved > 0 && !s.closed.Load() {
		settling := make(chan struct{})
		s.settling = settling
		s.mu.Unlock()
		<-settling
		s.mu.Lock()
	}
	return !s.closed.Load() && s.failed == nil && !s.ended
}

// failureLocked returns the error that the client gets after the last reply, because a request has failed.
func (s *Stream) failureLocked() error {
	if s.ran {
		return unknown(s.failed)
	}
	return notSent{s.failed}
}

// End ends the connection after the replies, unless it already ends.
func (s *Stream) End() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed == nil {
		s.ended = true
		s.wakeReaderLocked()
	}
}

// Fail ends a connection on which nothing was sent.
func (s *Stream) Fail(err *errorx.Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = err
}

// Continue makes the client read from the socket own after the replies. The stream then owns the socket,
// and closes it.
func (s *Stream) Continue(own net.Conn) {
	s.mu.Lock()
	s.own = own
	closed := s.closed.Load()
	_ = own.SetReadDeadline(s.readBy)
	_ = own.SetWriteDeadline(s.writeBy)
	s.wakeReaderLocked()
	s.mu.Unlock()
	if closed {
		_ = own.Close()
	}
}
