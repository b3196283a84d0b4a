package engine

import (
	"runtime"
	"runtime/debug"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/resp"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/internal/sock"
	"github.com/joomcode/redispipe/internal/timing"
	"github.com/joomcode/redispipe/redis"
)

// reader reads replies and resolves the futures of their requests, in order. Only the
// holder of the right to read uses it.
type reader struct {
	s   *Session
	dec *resp.Decoder
	// cur is the batch whose answer has begun to come, or nil.
	cur *Batch
	// next is the batch that the next reply belongs to, if that is known: the reading caller
	// has written it by exchange, when nothing else was in flight.
	next *Batch
	// retired is an answered batch that is taken out of flight together with passing on the
	// right to read, so that the lock is taken once for both. The reading caller has waited for
	// its last reply.
	retired *Batch
	// until is one more than the number of the last request that the reading caller waits
	// for; zero if the loop reads.
	until uint64
	// deaf: the reading caller does not listen to its context yet.
	deaf bool
	// fenced are the replies to cur that wait for the fence, with Opts.Integrity.
	fenced []reply
	// answered is one more than the sequence number of the last answered request.
	answered uint64

	canIdle   bool        // nobody needs to read when nothing is pending
	idleTimer *time.Timer // stopped, but while the loop waits for the right
}

// idleMost is how often the loop checks whether anybody reads. If nobody has read since the
// last check, the loop reads, so that it takes 10 to 20 ms to notice that the server has closed
// the connection. A hundred wake-ups a second cost a lone caller nothing that can be measured.
const idleMost = 10 * time.Millisecond

func newReader(s *Session, canIdle bool) *reader {
	r := &reader{s: s, dec: s.Dec, canIdle: canIdle, idleTimer: time.NewTimer(idleMost)}
	r.idleTimer.Stop()
	return r
}

// reply is a result with the size that it had on the wire, if the logger wants that.
type reply struct {
	res  any
	size int
}

// readLoop is the reader goroutine. It is started with the session, owns the
// receiving half of the socket, and ends when the session fails.
func (s *Session) readLoop() {
	defer func() {
		switch {
		case !s.hasFailed(): // a future has ended the goroutine
			go s.readLoop()
		case s.LoopKeeps:
			s.reader.countPart()
		}
	}()
	for s.reader.serve() {
	}
}

// countPart counts what was answered of a batch of which the rest is left. The session has
// ended, so that its reader belongs for good to the holder of the right to read.
func (r *reader) countPart() {
	if r.cur != nil {
		r.s.p.queue.CountPart(r.cur, r.answered)
		r.cur = nil
	}
}

// serve answers requests until the session fails; it returns true when it was
// interrupted by a future that panicked.
func (r *reader) serve() (interrupted bool) {
	defer func() {
		if v := recover(); v != nil {
			r.s.p.opts.Panicked(v, debug.Stack())
			interrupted = true
		}
	}()
	for r.answer() && r.passOn() {
	}
	return false
}

// passOn passes the right to read on when everything that has come is read, and waits
// until the loop has the right again. It returns false if the session has failed.
func (r *reader) passOn() bool {
	if r.cur != nil && r.dec.Buffered() > 0 {
		return true
	}
	r.s.Socket.Calls.Stop()
	mayIdle, loop := r.mayIdle(), r.dec.Buffered() > 0 && !r.s.hasFailed()
	if !loop {
		loop, _ = r.s.p.queue.PassRead(r.s, mayIdle, nil)
	}
	if loop {
		if r.s.p.queue.Crowded() {
			runtime.Gosched() // more comes while those whom the replies woke send
		}
		return true
	}
	r.idleTimer.Reset(idleMost)
	defer r.idleTimer.Stop()
	for {
		select {
		case <-r.s.readWake:
			if r.s.p.queue.TakePostponed(r.s) {
				r.s.flush(MustWrite)
			}
			return true
		case <-r.s.failed:
			return false
		case <-r.idleTimer.C:
			if r.s.p.queue.TakeRead(r.s) {
				return true
			}
			r.idleTimer.Reset(idleMost)
		}
	}
}

// current returns the batch whose reply has begun to come. If none is in flight, why is
// the error with which the reply ends the session.
func (r *reader) current() (b *Batch, why *errorx.Error) {
	switch {
	case r.cur != nil:
	case r.next != nil:
		r.cur, r.next = r.next, nil
		r.cur.NoteFirstByte()
	default:
		r.cur, why = r.s.p.queue.Answering(r.s)
	}
	return r.cur, why
}

// touchAhead is how many replies before its own a caller is touched: it takes the processor
// about as long to fetch memory as to deal with a few replies.
const touchAhead = 3

// touch touches the caller of the item of index i, if there are both: see [send.Caller].
func touch(b *Batch, i int) {
	if i < len(b.Items) && b.Items[i].Caller != nil {
		b.Items[i].Caller.Touch()
	}
}

// answer reads one reply and resolves its request with it.
func (r *reader) answer() bool {
	if len(r.fenced) == 0 { // otherwise a future has interrupted the release of replies
		r.s.FitReadBuffer()
		if _, err := r.dec.Next(); err != nil {
			r.s.Fail(redis.AsErrorx(err))
			return false
		}
	}
	b, why := r.current()
	if b == nil {
		r.s.Fail(why)
		return false
	}
	if r.s.p.opts.Integrity {
		return r.answerFenced(b)
	}
	next, ok := b.Unclaimed()
	if !ok {
		return false
	}
	touch(b, next+touchAhead)
	it := &b.Items[next]
	if it.Typed {
		return r.answerTyped(b, next)
	}
	res, err := r.dec.Decode()
	if err != nil {
		r.s.failReply(unread(err, it))
		return false
	}
	if h := &r.s.beats; h.waiting.Load() && (!it.Internal || it.Future == nil) && h.nonce.Is(res) {
		r.s.Fail(redis.ErrPing.New("a request was answered with the heartbeat's echo"))
		return false
	}
	if !b.Claim(next) {
		return false
	}
	got := reply{res: res}
	if it.Stat != nil {
		got.size = r.dec.Size()
	}
	r.resolve(b, next, got)
	return true
}

// unread returns the error of a reply that can't be read. It shows nothing of an answer to one of the
// library's own requests: that may be AUTH, and the answer quote the password.
func unread(err error, it *Item) *errorx.Error {
	typed := redis.AsErrorx(err)
	if _, quotes := typed.Property(redis.EKLine); it.Internal && quotes {
		return typed.Type().New("%s", typed.Message())
	}
	return typed
}

// answerTyped lets a future decode the reply by itself. Meanwhile the future belongs to
// the reader, whatever happens to the session. The logger wants nothing of it.
func (r *reader) answerTyped(b *Batch, next int) bool {
	if !b.Claim(next) {
		return false
	}
	it := &b.Items[next]
	res, err := it.Future.(resp.ReplyDecoder).DecodeReply(r.dec, it.N)
	if err != nil {
		r.failTyped(b, next, redis.AsErrorx(err))
		return false
	}
	r.finish(b, next, res)
	return true
}

// failTyped ends the session, and resolves the claimed item of index i, whose reply could
// not be read. Leftovers would do the same, but get only unclaimed items.
func (r *reader) failTyped(b *Batch, i int, err *errorx.Error) {
	r.s.Fail(err)
	if err.IsOfType(redis.ErrIO) {
		err = r.s.unknownError() // the reason why the session has failed, which may be an earlier error
	} else {
		err = r.s.p.opts.WithConn(err)
	}
	r.s.p.queue.CountLeft(0, 1)
	it := &b.Items[i]
	it.Future.Resolve(timing.WithDelay(err, b.Delay(timing.Clock())), it.N)
}

// resolve tells the logger, if it wants that, and resolves the item of index i, even
// if the logger panics or ends the goroutine.
func (r *reader) resolve(b *Batch, i int, got reply) {
	if it := &b.Items[i]; it.Stat != nil {
		defer r.finish(b, i, got.res)
		r.s.p.Tell(it.Stat, got.res, got.size, b.Size(i))
		return
	}
	r.finish(b, i, got.res)
}

// finish resolves the item of index i. The last item of a batch is resolved after the batch was
// taken out of flight, so that a panic leaves nothing half done. The exception is the last item
// that a reading caller waits for: its future is the library's own, and PassRead or settle takes
// the batch out of flight afterwards.
func (r *reader) finish(b *Batch, i int, res any) {
	it := &b.Items[i]
	if err, failed := res.(*errorx.Error); failed {
		if !it.Internal {
			b.Refused++
		}
		err = r.s.p.opts.WithConn(err)
		if it.Plain {
			err = err.WithProperty(redis.EKRequest, b.Request(i))
		}
		res = err
	} else if it.Exec {
		b.NameElements(i, res)
	}
	r.answered = max(r.answered, it.Seq+1)
	fut, n, observed := it.Future, it.N, it.Observed // b no longer belongs to the reader once it is retired
	calls := fut != nil && it.Caller == nil
	if calls {
		r.s.Socket.Calls.Start()
	}
	last := i+1 == len(b.Items)
	switch more := r.dec.Buffered() > 0; {
	case !last:
	case r.answered == r.until && it.Caller != nil && !more && r.s.raw != nil:
		r.cur, r.retired = nil, b
	default:
		r.cur = r.s.p.queue.Retire(b, more)
		if more && r.cur == nil && r.canIdle { // nothing is in flight that it may answer, but may be once fut is resolved
			r.s.failCheck(sock.ErrUnsolicited)
		}
	}
	if fut == nil {
		return
	}
	if observed {
		send.AnsweredBy(fut, r.s.p.opts.Server())
		send.AnsweredIn(fut, r.s)
	}
	fut.Resolve(res, n)
	if last && calls {
		r.s.p.queue.CountLastCallback()
	}
}
