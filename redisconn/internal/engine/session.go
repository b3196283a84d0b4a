package engine

import (
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/sock"
	"github.com/joomcode/redispipe/internal/timing"
	"github.com/joomcode/redispipe/redis"
)

// Session is the life of one socket. It fails once, with the first error. Then the socket is
// closed, reader and writer end, and the goroutine that started the session abandons what is left.
type Session struct {
	*sock.Socket
	p         *Pipe
	raw       *sock.Raw // nil if writes of callers could block
	checker   *sock.Raw // checks the socket, or that under TLS; nil if that is not possible
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
	// listens: the caller that has the right to read must listen to its context from now on. It is
	// written under the lock, and reset with the right.
	listens atomic.Bool
	// loopKeeps: the session has ended, and the loop keeps its right to read. It is written under
	// the lock, once, before the session fails.
	loopKeeps bool
	// first is the batch that the holder of the right to write must write first. It is in flight,
	// and nothing else is. It belongs to the goroutine that takes it: that holder or, under the
	// lock, one that withdraws it.
	first atomic.Pointer[batch]

	// taken is how many bytes the socket has taken while the writer waited, and held is how many
	// replies have waited for a fence: see mark.
	taken atomic.Int64
	held  atomic.Uint64

	beats heartbeat
	runID atomic.Pointer[string] // see RunID
}

// start begins a session on a socket, with goroutines that read and write. When the session fails,
// call Abandon.
func (p *Pipe) Start(socket *sock.Socket) *Session {
	s := newSession(p, socket)
	p.current.Store(s)
	if p.queue.Change(Connected, s, nil) { // before the loops, which may end the session at once
		s.wake <- nil
	}
	go s.writeLoop()
	go s.readLoop()
	return s
}

func newSession(p *Pipe, socket *sock.Socket) *Session {
	s := &Session{
		Socket:    socket,
		p:         p,
		raw:       sock.NewRaw(socket.Conn),
		processor: newProcessor(socket.Conn),
		failed:    make(chan struct{}),
		quit:      make(chan struct{}),
		readWake:  make(chan struct{}, 1),

		interrupted: make(chan struct{}, 1),
	}
	if s.checker = s.raw; s.raw == nil {
		s.checker = sock.NewRaw(socket.Bare())
	}
	socket.Calls = new(timing.Callbacks)
	mayPass := s.Interruptible() && !p.opts.Integrity
	canIdle := mayPass && s.checker != nil && !p.opts.Pushes
	s.wake = make(chan *batch, 1)
	s.mayPass, s.mayExchange = mayPass, s.raw != nil && canIdle
	s.reader = newReader(s, canIdle)
	s.beats.s = s
	if s.raw != nil {
		s.raw.Written = s.exchangeWritten
	}
	return s
}

// RunID implements send.Process.
func (s *Session) RunID() *string { return s.runID.Load() }

// AskRunID implements send.Process. If the user may not ask, the run ID is "". With Opts.Script
// nothing is asked, since the answer could become one of the user's transaction.
func (s *Session) AskRunID(done func(error)) {
	switch {
	case s.RunID() != nil:
		done(nil)
		return
	case s.p.opts.Script:
		done(redis.ErrCommandForbidden.New("nothing is asked between the requests of a script"))
		return
	}
	s.p.SendOwn(s, redis.Req("INFO", "server"), func(res any, _ uint64) {
		if err := redis.AsErrorx(res); err != nil && !sock.RefusedForGood(err) {
			done(err)
			return
		}
		id := sock.RunID(res)
		s.runID.Store(&id)
		done(nil)
	})
}

// Err returns the error that the session failed with. Call it only after the failure.
func (s *Session) Err() *errorx.Error { return s.err }

// fail ends the session, unless it has ended.
func (s *Session) fail(err *errorx.Error) { s.failOnce(err, nil) }

// failReply is Fail for a reply that can't be read. If it arrived but does not parse, its error is
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
		s.p.queue.Change(Disconnected, nil, err) // before anybody sees the error, so that it can't be taken for that of the next session
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

// connCheck ends the session, and returns false, if the server has closed the connection or sent
// something unsolicited. Its caller has both rights, and loses the right to write when the session
// ends.
func (s *Session) connCheck() bool {
	err := s.checker.Check()
	if err == sock.ErrUnsolicited && s.raw == nil {
		err = s.readRecords(recordsWait)
	}
	if err != nil {
		s.failCheck(err)
		s.p.queue.release()
	}
	return err == nil
}

// failCheck ends a session with the error of a check.
func (s *Session) failCheck(err error) {
	if err == sock.ErrUnsolicited {
		s.fail(redis.ErrResponseUnexpected.New("%s", sock.ErrUnsolicited.Error()))
	} else {
		s.fail(redis.ErrIO.Wrap(err, "reading"))
	}
}

// recordsWait is how long connCheck waits for the rest of a TLS record that has begun to arrive.
// Records without data come after a handshake, and when keys change.
const recordsWait = time.Millisecond

// readRecords reads TLS records for a time. If the time is negative, it reads only buffered ones.
// It returns sock.ErrUnsolicited if one of them has data.
func (s *Session) readRecords(wait time.Duration) error {
	_ = s.SetReadDeadline(time.Now().Add(wait))
	err := s.Dec.AwaitMore()
	_ = s.SetReadDeadline(time.Time{})
	switch {
	case err == nil:
		return sock.ErrUnsolicited
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil
	}
	return err
}
