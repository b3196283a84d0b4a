package redisconn

import (
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/redis"
)

// session is the life of one socket. It fails once, with the first error, and
// everything else follows from that: the socket is closed, reader and writer
// come to their ends, and the lifecycle resolves what is left.
type session struct {
	c      *Connection
	conn   net.Conn
	raw    *rawWriter // nil if writes of callers could block
	ceding *ceding

	failure sync.Once
	failed  chan struct{} // closed after err is set
	err     *errorx.Error
	// badReply is the result of the oldest request, if its reply does not parse.
	badReply *errorx.Error
	quit     chan struct{} // closed when the writer is to end

	// wake passes the right to write to the writer, together with rest, a
	// batch that is partly written, if not nil.
	wake chan struct{}
	rest *batch
	// overdue makes the writer look after batches that are held back. Stopped
	// unless some are.
	overdue *time.Timer

	reader *reader // used by whoever has the right to read
	// first is the batch that the caller who leads has taken and not written.
	first *batch
	// readWake passes the right to read to the reader.
	readWake chan struct{}
	// rouses: who has the right to write is to pass the right to read to the
	// reader, before it writes.
	rouses bool

	beats    *heartbeat
	received atomic.Int64 // bytes
}

func newSession(c *Connection, conn net.Conn) *session {
	s := &session{
		c:        c,
		conn:     conn,
		raw:      newRawWriter(conn),
		ceding:   newCeding(conn),
		failed:   make(chan struct{}),
		quit:     make(chan struct{}),
		wake:     make(chan struct{}, 1),
		readWake: make(chan struct{}, 1),
		overdue:  time.NewTimer(heldMost),
	}
	s.overdue.Stop()
	s.reader = newReader(s)
	s.beats = &heartbeat{s: s}
	if s.raw != nil {
		s.raw.written = s.firstWritten
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
		_ = s.conn.Close()
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

// Read implements io.Reader and counts.
func (s *session) Read(p []byte) (int, error) {
	read := s.conn.Read
	if s.first != nil {
		read = s.readFirst
	}
	n, err := read(p)
	s.received.Add(int64(n))
	return n, err
}
