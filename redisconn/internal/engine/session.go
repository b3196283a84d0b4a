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

// Session is the use of one socket, until the first error. Then the session fails: the socket is
// closed, reader and writer end, and the goroutine that started the session abandons the requests
// that are left.
type Session struct {
	*sock.Socket
	p         *Pipe
	raw       *sock.Raw // the socket without TLS, for calls that do not block; nil if there is none
	checker   *sock.Raw // checks the socket (with TLS, the one below TLS); nil if that is impossible
	processor *processor
	parallel  *parallel // nil if it does not matter whether the server runs in parallel

	failure sync.Once
	failed  chan struct{} // closed after err is set
	err     *errorx.Error
	handed  atomic.Bool // another session has replaced this one, by HandOver
	// badReply is the result of the oldest request, if its reply does not parse.
	badReply *errorx.Error
	quit     chan struct{} // closed when the writer is to end

	reader *reader // used by the holder of the right to read
	// readWake passes the right to read to the reader goroutine.
	readWake chan struct{}
	// loopEnded is closed when the reader goroutine has ended.
	loopEnded chan struct{}
	// waits is increased when a deaf caller begins to wait for replies, and when that wait ends.
	// While it is odd, a goroutine that increases it may interrupt the wait: see waitDeaf.
	waits       atomic.Uint64
	interrupted chan struct{}
	exchanger   send.Reader // the session, for a caller that has both rights
	// exchanged is the batch that exchange has not written yet.
	exchanged *batch

	// wake passes the right to write to the writer goroutine. It carries a batch in flight that is
	// not completely written, or nil for the open batch. It has room for one.
	wake chan *batch
	// mayPass: the right to read may be passed to callers. mayExchange: a caller that has both rights
	// may write and wait for the reply in one step (an exchange).
	mayPass, mayExchange bool
	// both: the caller that has the right to read also has the right to write, and must use that
	// first. Only the holder of the right to read uses both.
	both bool
	// listens: the caller that has the right to read is told to listen to its context. It is
	// written under the lock, and cleared when the caller passes on the right.
	listens atomic.Bool
	// loopKeeps: the session has ended, and the loop keeps its right to read. It is written under
	// the lock, once, before the session fails.
	loopKeeps bool
	// first is the batch that the holder of the right to write must write first. Only this batch is
	// in flight. The goroutine that takes it out of first owns it: the writer or, under the lock, a
	// goroutine that withdraws it.
	first atomic.Pointer[batch]

	// taken counts the bytes that the socket took while the writer waited. held counts the replies
	// that have waited for a fence. mark uses both.
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
	// next is the batch that the next reply answers, if the reader knows it: the reading caller has
	// written the batch with exchange, when nothing else was in flight.
	next *batch
	// retired is an answered batch that ends with a request of the reading caller. The caller takes
	// the batch out of flight when it passes on the right to read, so it takes the lock only once.
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

// heartbeat sends a PING with a nonce at intervals. A wrong echo ends the session, because it means
// that requests get the replies to other requests. A peer that does not echo must answer PONG,
// which shows only that each request got some reply.
type heartbeat struct {
	s       *Session
	waiting atomic.Bool // a PING is not answered yet; there is at most one
	nonce   sock.Nonce  // does not change while waiting is set
	sent    time.Time
}

// Err returns the error that the session failed with. Call it only after the failure.
func (s *Session) Err() *errorx.Error { return s.err }

// fail ends the session with err, unless it has failed already.
func (s *Session) fail(err *errorx.Error) { s.failOnce(err, nil) }

// failReply is fail for a reply that can't be read. If the reply arrived but does not parse, err is
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
		s.p.queue.Change(Disconnected, nil, err) // change the state before anybody sees the error: a later change could hit the next session
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

// takeFirst takes the batch in Session.first, which is in flight although nobody has begun to write
// it. It returns nil if there is none.
func (s *Session) takeFirst() *batch {
	if s.first.Load() == nil {
		return nil
	}
	return s.first.Swap(nil)
}

// failCheck ends a session with the error of a check.
func (s *Session) failCheck(err error) {
	if err == sock.ErrUnsolicited {
		s.fail(redis.ErrResponseUnexpected.New("%s", sock.ErrUnsolicited.Error()))
	} else {
		s.fail(redis.ErrIO.Wrap(err, "reading"))
	}
}
