package redisconn

import (
	"runtime/debug"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/timing"
	"github.com/joomcode/redispipe/internal/wire"
	"github.com/joomcode/redispipe/redis"
)

// reader resolves futures in the order of the wire. It is used by the holder of
// the right to read.
type reader struct {
	s   *session
	dec *redis.Decoder
	cur *batch // the batch that is being answered
	// held are the replies of cur so far, with Opts.Integrity.
	held []reply
	// answered is the sequence number behind that of the last answered request.
	answered uint64

	// mayPass: callers may read. canIdle: nobody needs to, when nothing is pending.
	mayPass, canIdle bool
	idleTimer        *time.Timer // stopped, but while the loop waits for the right
}

func newReader(s *session) *reader {
	r := &reader{
		s:         s,
		dec:       s.Dec,
		mayPass:   s.Interruptible() && !s.c.opts.Integrity,
		idleTimer: time.NewTimer(idleMost),
	}
	r.canIdle = r.mayPass && s.checker != nil && s.c.opts.Protocol != 3
	r.idleTimer.Stop()
	return r
}

// reply is a result with the size that it had on the wire.
type reply struct {
	res  any
	size int
}

// readLoop is the reader goroutine. It is started with the session, owns the
// receiving half of the socket, and ends when the session fails.
func (s *session) readLoop() {
	// A future may end the goroutine by runtime.Goexit.
	defer s.fail(redis.ErrIO.New("reader ended"))
	for s.reader.serve() {
	}
}

// serve answers requests until the session fails; it returns true when it was
// interrupted by a future that panicked.
func (r *reader) serve() (interrupted bool) {
	defer func() {
		if v := recover(); v != nil {
			r.s.c.report(LogFuturePanic{Value: v, Stack: debug.Stack()})
			interrupted = true
		}
	}()
	for r.answer() && r.handOver() {
	}
	return false
}

// handOver passes the right to read on when all that has come is read, and waits
// until it is the loop's again. It returns false if the session has failed.
func (r *reader) handOver() bool {
	if r.cur != nil && r.dec.Buffered() > 0 {
		return true
	}
	r.s.calls.Stop()
	if mayIdle := r.mayIdle(); r.dec.Buffered() > 0 && !r.s.hasFailed() || r.s.c.queue.passRead(r.s, mayIdle) {
		return true
	}
	r.idleTimer.Reset(idleMost)
	defer r.idleTimer.Stop()
	for {
		select {
		case <-r.s.readWake:
			if r.s.c.queue.takePostponed(r.s) {
				r.s.flush(dutyWrite)
			}
			return true
		case <-r.s.failed:
			return false
		case <-r.idleTimer.C:
			if r.s.c.queue.takeRead(r.s) {
				return true
			}
			r.idleTimer.Reset(idleMost)
		}
	}
}

// nextWaits reports whether the next reply is for a caller that waits, or nobody.
func (r *reader) nextWaits() bool {
	b, _ := r.current()
	if b == nil {
		return false
	}
	next, ok := b.unclaimed()
	return ok && (b.items[next].waits || b.items[next].fut == nil)
}

// current returns the batch that is being answered. If none is in flight, why says
// what that means for a reply that has come.
func (r *reader) current() (b *batch, why *errorx.Error) {
	if r.cur == nil {
		r.cur, why = r.s.c.queue.oldestBatch(r.s)
	}
	return r.cur, why
}

// answerBegins notes that a part of the answer to b has come.
func (r *reader) answerBegins(b *batch) {
	if !b.Begun() {
		b.NoteFirstByte()
		r.s.c.queue.noteAnswer(b)
	}
}

// answer reads one reply and resolves its request with it.
func (r *reader) answer() bool {
	if len(r.held) == 0 { // else a future has interrupted the release of replies
		r.s.FitReadBuffer()
		if _, err := r.dec.Next(); err != nil {
			r.s.fail(redis.AsErrorx(err))
			return false
		}
	}
	b, why := r.current()
	if b == nil {
		r.s.fail(why)
		return false
	}
	r.answerBegins(b)
	if r.s.c.opts.Integrity {
		return r.answerFenced(b)
	}
	next, ok := b.unclaimed()
	if !ok {
		return false
	}
	if b.items[next].typed {
		return r.answerTyped(b, next)
	}
	res, err := r.dec.Decode()
	if err != nil {
		r.s.failReply(redis.AsErrorx(err))
		return false
	}
	if r.s.beats.misdirected(res, b.items[next].fut) {
		r.s.fail(redis.ErrPing.New("a request was answered with the heartbeat's echo"))
		return false
	}
	if !b.claim(next) {
		return false
	}
	r.resolve(b, next, reply{res, r.dec.Size()})
	return true
}

// replyDecoder is the future of a typed request.
type replyDecoder = wire.ReplyDecoder[*redis.Decoder]

// answerTyped is for a future that reads the reply by itself. It belongs to the
// reader while it does so, whatever becomes of the session.
func (r *reader) answerTyped(b *batch, next int) bool {
	if !b.claim(next) {
		return false
	}
	it := b.items[next]
	res, err := it.fut.(replyDecoder).DecodeReply(r.dec, it.n)
	if err != nil {
		r.failTyped(b, next, redis.AsErrorx(err))
		return false
	}
	r.resolve(b, next, reply{res, r.dec.Size()})
	return true
}

// failTyped ends the session, and the claimed item of index i whose reply could not be
// read: as leftovers would, which don't know of it.
func (r *reader) failTyped(b *batch, i int, err *errorx.Error) {
	r.s.fail(err)
	if err.IsOfType(redis.ErrIO) {
		err = r.s.unknownError() // why the session has failed, be it by this error or before
	} else {
		err = r.s.c.withConn(err)
	}
	r.s.c.queue.countLeft(0, 1)
	it := &b.items[i]
	it.fut.Resolve(timing.WithDelay(err, b.Delay(timing.Clock())), it.n)
}

// resolve tells the logger, if it wants that, and resolves the item of index i, even
// if the logger panics or ends the goroutine.
func (r *reader) resolve(b *batch, i int, got reply) {
	if it := &b.items[i]; it.stat != nil {
		defer r.finish(b, i, got)
		r.s.c.reportStat(it.stat, got.res, got.size, it.end-b.begin(i))
		return
	}
	r.finish(b, i, got)
}

// finish resolves the item of index i. The last one of a batch is resolved when
// the batch is gone already, so that a panic leaves nothing half done.
func (r *reader) finish(b *batch, i int, got reply) {
	it := &b.items[i]
	if err, failed := got.res.(*errorx.Error); failed {
		if it.fut != nil && !isOwn(it.fut) {
			b.refused++
		}
		err = r.s.c.withConn(err)
		if it.plain {
			err = err.WithProperty(redis.EKRequest, b.request(i))
		}
		got.res = err
	} else if it.exec {
		b.nameElements(i, got.res)
	}
	r.answered = max(r.answered, it.seq+1)
	fut, n, observed := it.fut, it.n, it.observed // b is another's when it is retired
	calls := fut != nil && !it.waits
	if calls {
		r.s.calls.Start()
	}
	last := i+1 == len(b.items)
	if last {
		r.cur = r.s.c.queue.retire(b)
	}
	if fut == nil {
		return
	}
	if observed {
		wire.AnsweredBy(fut, r.s.c.place())
	}
	fut.Resolve(got.res, n)
	if last && calls {
		r.s.c.queue.countLastCallback()
	}
}
