package engine

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/resp"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/internal/sock"
	"github.com/joomcode/redispipe/redis"
)

// Session is the life of one socket. It fails once, with the first error. Then the socket is
// closed, reader and writer end, and the goroutine that started the session abandons what is left.
type Session struct {
	*sock.Socket
	p         *Pipe
	raw       *sock.Raw // nil if a write of a caller could block
	checker   *sock.Raw // checks the socket (with TLS, the one below TLS); nil if that is impossible
	processor *processor

	failure sync.Once
	failed  chan struct{} // closed after err is set
	err     *errorx.Error
	// badReply is the result of the oldest request, if its reply does not parse.
	badReply *errorx.Error
	quit     chan struct{} // closed when the writer is to end

	reader *reader // used by the holder of the right to read
	// readWake passes the right to read to the reader goroutine.
	readWake chan struct{}
	// waits counts the beginnings and ends of deaf waits for replies. While it is odd, making it
	// even interrupts the wait: see waitDeaf.
	waits       atomic.Uint64
	interrupted chan struct{}
	exchanger   send.Reader // the session, for a caller that has both rights
	// exchanged is the batch that exchange has not written yet.
	exchanged *batch

	// wake passes the right to write to the writer goroutine: with a batch in flight that is not
	// completely written, or with nil for the open batch. It has room for one.
	wake chan *batch
	// mayPass: callers may read. mayExchange: a caller that has both rights may write and
	// wait for the reply in one step (an exchange).
	mayPass, mayExchange bool
	// both: the caller that has the right to read also has the right to write, and must use that
	// first. It belongs to the holder of the right to read.
	both bool
	// listens: the caller that has the right to read is told to listen to its context. It is written
	// under the lock, and reset with the right.
	listens atomic.Bool
	// loopKeeps: the session has ended, and the loop keeps its right to read. It is written under
	// the lock, once, before the session fails.
	loopKeeps bool
	// first is the batch that the holder of the right to write must write first. It is in flight,
	// and nothing else is. It belongs to the goroutine that takes it: that holder or, under the
	// lock, one that withdraws it.
	first atomic.Pointer[batch]

	// taken counts the bytes that the socket took while the writer waited. held counts the replies
	// that have waited for a fence. Both are for mark.
	taken atomic.Int64
	held  atomic.Uint64

	beats heartbeat
	runID atomic.Pointer[string] // see RunID
}

// reader reads replies and resolves the futures of their requests, in order. Only the
// holder of the right to read uses it.
type reader struct {
	s   *Session
	dec *resp.Decoder
	// cur is the batch whose answer has begun, or nil.
	cur *batch
	// next is the batch that the next reply belongs to, if that is known: the reading caller has
	// written it with exchange, when nothing else was in flight.
	next *batch
	// retired is an answered batch. It is taken out of flight together with passing on the right to
	// read, so that the lock is taken once for both. The reading caller has waited for its last
	// reply.
	retired *batch
	// until is one more than the number of the last request that the reading caller waits
	// for; zero if the loop reads.
	until uint64
	// deaf: the reading caller does not listen to its context.
	deaf bool
	// fenced are the replies to cur that wait for the fence, with Opts.Integrity.
	fenced []reply
	// answered is one more than the sequence number of the last answered request.
	answered uint64

	canIdle   bool        // nobody needs to read when nothing is pending
	idleTimer *time.Timer // runs only while the loop waits for the right to read
}

// reply is a result, with its size in bytes if the logger wants that.
type reply struct {
	res  any
	size int
}

// heartbeat sends a PING with a nonce at intervals. A wrong echo means that replies are out of step
// with requests, and ends the session. A peer that does not echo must answer PONG, which shows only
// that each request got a reply.
type heartbeat struct {
	s       *Session
	waiting atomic.Bool // one at a time
	nonce   sock.Nonce  // not changed while waiting
	sent    time.Time
}

// Err returns the error that the session failed with. Call it only after the failure.
func (s *Session) Err() *errorx.Error { return s.err }

// fail ends the session, unless it has ended.
func (s *Session) fail(err *errorx.Error) { s.failOnce(err, nil) }

// failReply is fail for a reply that can't be read. If it arrived but does not parse, its error is
// also the result of its request.
func (s *Session) failReply(err *errorx.Error) {
	if err.IsOfType(redis.ErrIO) {
		s.failOnce(err, nil)
	} else {
		s.failOnce(err, err)
	}
}

func (s *Session) failOnce(err, badReply *errorx.Error) {
	s.failure.Do(func() {
		s.err, s.badReply = err, badReply
		s.p.queue.Change(Disconnected, nil, err) // change the state before anybody sees the error. Otherwise the change could hit the next session
		close(s.failed)
		_ = s.Close()
	})
}

func (s *Session) hasFailed() bool {
	select {
	case <-s.failed:
		return true
	default:
		return false
	}
}

// unknownError is the error of requests that were written, at least in part, when the
// session failed.
func (s *Session) unknownError() *errorx.Error {
	if s.err.IsOfType(redis.ErrIO) {
		return s.p.opts.WithConn(s.err)
	}
	return s.p.opts.WithConn(redis.ErrIO.Wrap(s.err, "connection lost"))
}
