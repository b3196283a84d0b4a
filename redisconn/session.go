package redisconn

import (
	"sync"
	"sync/atomic"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/sock"
	"github.com/joomcode/redispipe/internal/timing"
	"github.com/joomcode/redispipe/redis"
)

// session is the life of one socket. It fails once, with the first error, and
// everything else follows from that: the socket is closed, reader and writer
// come to their ends, and the lifecycle resolves what is left.
type session struct {
	*socket
	calls     *timing.Callbacks // the socket's
	c         *Connection
	raw       *sock.Raw // nil if writes of callers could block
	checker   *sock.Raw // checks the socket, or that under TLS; nil if that is not possible
	processor *processor

	failure sync.Once
	failed  chan struct{} // closed after err is set
	err     *errorx.Error
	// badReply is the result of the oldest request, if its reply does not parse.
	badReply *errorx.Error
	quit     chan struct{} // closed when the writer is to end

	// wake passes the right to write to the writer, together with partial, a
	// batch that is partly written, if not nil.
	wake    chan struct{}
	partial *batch

	reader *reader // used by the holder of the right to read
	// readWake passes the right to read to the reader goroutine.
	readWake chan struct{}
	// interrupted: see interruptibly.
	interrupted chan struct{}
	// unwritten: the caller that has been given the right to read has the right to
	// write, too, and is to use it first.
	unwritten bool
	// exchanged is the batch that exchange has not written yet.
	exchanged *batch

	beats *heartbeat
	// server is the run_id of the server process, or empty if that does not tell; nil
	// until a blocking command is unblocked.
	server atomic.Pointer[string]
}

func newSession(c *Connection, greeted *socket) *session {
	s := &session{
		socket:    greeted,
		calls:     new(timing.Callbacks),
		c:         c,
		raw:       sock.NewRaw(greeted.Conn),
		processor: newProcessor(greeted.Conn),
		failed:    make(chan struct{}),
		quit:      make(chan struct{}),
		wake:      make(chan struct{}, 1),
		readWake:  make(chan struct{}, 1),

		interrupted: make(chan struct{}, 1),
	}
	greeted.Calls = s.calls
	if s.checker = s.raw; s.raw == nil {
		s.checker = sock.NewRaw(greeted.Bare())
	}
	s.reader = newReader(s)
	s.beats = &heartbeat{s: s}
	if s.raw != nil {
		s.raw.Written = s.exchangeWritten
	}
	return s
}

// fail ends the session, unless it has ended.
func (s *session) fail(err *errorx.Error) { s.failOnce(err, nil) }

// failReply is fail for a reply that can't be read. If it came, and does not parse,
// its error is the result of the request that it was for, too.
func (s *session) failReply(err *errorx.Error) {
	if err.IsOfType(redis.ErrIO) {
		s.failOnce(err, nil)
	} else {
		s.failOnce(err, err)
	}
}

func (s *session) failOnce(err, badReply *errorx.Error) {
	s.failure.Do(func() {
		s.err, s.badReply = err, badReply
		s.c.lost(err) // before the lifecycle goes on: the next session is not lost
		close(s.failed)
		_ = s.Close()
	})
}

func (s *session) hasFailed() bool {
	select {
	case <-s.failed:
		return true
	default:
		return false
	}
}
