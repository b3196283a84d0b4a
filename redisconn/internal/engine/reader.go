package engine

import (
	"runtime"
	"runtime/debug"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/resp"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/internal/sock"
	"github.com/joomcode/redispipe/internal/timing"
	"github.com/joomcode/redispipe/redis"
)

// idleMost is the interval at which the loop checks whether anybody reads. If nobody has read since
// the last check, the loop reads. So it notices within two intervals that the server has closed the
// connection. Checks at this interval do not measurably slow down a lone caller.
const idleMost = 10 * time.Millisecond

func newReader(s *Session, canIdle bool) *reader {
	r := &reader{s: s, dec: s.Dec, canIdle: canIdle, idleTimer: time.NewTimer(idleMost)}
	r.idleTimer.Stop()
	return r
}

// readLoop is the reader goroutine. It is started with the session, owns the
// receiving half of the socket, and ends when the session fails.
func (s *Session) readLoop() {
	defer func() {
		if !s.hasFailed() { // a future has ended this goroutine: start another one
			go s.readLoop()
			return
		}
		if s.loopKeeps {
			s.reader.leave()
		}
		close(s.loopEnded)
	}()
	for s.reader.serve() {
	}
}

// leave is called when the session has ended. From now on, the session's reader belongs to the holder of the right to
// read. leave records the answered prefix of a batch whose session has failed. If the session was handed over, leave
// reads the pushes that have come after the last reply, and closes the socket: see closeRead.
func (r *reader) leave() {
	if r.cur != nil {
		r.s.p.queue.countPart(r.cur, r.answered)
		r.cur = nil
	}
	if r.s.handed.Load() {
		_, _ = r.dec.Next()
		_ = r.s.Close()
	}
}

// serve answers requests until the session fails. It returns true if a future that panicked
// interrupted it.
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

// passOn passes on the right to read once everything that has arrived is read, and waits until the
// loop has the right again. It returns false if the session has failed.
func (r *reader) passOn() bool {
	if r.cur != nil && r.dec.Buffered() > 0 {
		return true
	}
	r.s.Socket.Calls.Stop()
	mayIdle, loop := r.mayIdle(), r.dec.Buffered() > 0 && !r.s.hasFailed()
	if !loop {
		loop, _ = r.s.p.queue.passRead(r.s, mayIdle, nil)
	}
	if loop {
		if r.s.p.queue.crowded.Load() {
			runtime.Gosched() // lets the woken callers send while more replies arrive
		}
		return true
	}
	r.idleTimer.Reset(idleMost)
	defer r.idleTimer.Stop()
	for {
		select {
		case <-r.s.readWake:
			if r.s.p.queue.takePostponed(r.s) {
				r.s.flush(mustWrite)
			}
			return true
		case <-r.s.failed:
			return false
		case <-r.idleTimer.C:
			if r.s.p.queue.takeRead(r.s) {
				return true
			}
			r.idleTimer.Reset(idleMost)
		}
	}
}

// current returns the batch whose answer has begun. If nothing is in flight, the reply is
// unsolicited, and why is the error that ends the session.
func (r *reader) current() (b *batch, why *errorx.Error) {
	switch {
	case r.cur != nil:
	case r.next != nil:
		r.cur, r.next = r.next, nil
		r.cur.NoteFirstByte()
	default:
		r.cur, why = r.s.p.queue.answering(r.s)
	}
	return r.cur, why
}

// touchAhead is how many replies ahead the reader touches a caller, so that the caller's memory is
// in the processor's caches when its reply comes. Fetching memory takes about as long as handling a
// few replies.
const touchAhead = 3

// touch touches the caller of item i, if there is one: see [send.Caller].
func touch(b *batch, i int) {
	if i < len(b.items) && b.items[i].caller != nil {
		b.items[i].caller.Touch()
	}
}

// answer reads one reply and resolves its request with it.
func (r *reader) answer() bool {
	if len(r.fenced) == 0 { // otherwise a future has interrupted the loop of answerFenced
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
	if r.s.p.opts.Integrity {
		return r.answerFenced(b)
	}
	next, ok := b.unclaimed()
	if !ok {
		return false
	}
	touch(b, next+touchAhead)
	it := &b.items[next]
	if it.typed {
		return r.answerTyped(b, next)
	}
	res, err := r.dec.Decode()
	if err != nil {
		r.s.failReply(unread(err, it))
		return false
	}
	if h := &r.s.beats; h.waiting.Load() && (!it.internal || it.future == nil) && h.nonce.Is(res) {
		r.s.fail(redis.ErrPing.New("a request was answered with the heartbeat's echo"))
		return false
	}
	if r.dec.Size() >= LargeLeast {
		r.noteLarge(b, next)
	}
	if !b.claim(next) {
		return false
	}
	got := reply{res: res}
	if it.stat != nil {
		got.size = r.dec.Size()
	}
	r.resolve(b, next, got)
	return true
}

// unread returns the error of a reply that can't be read. It shows nothing of the answer to a
// request of the library itself, because that may be AUTH, and the answer may quote the password.
func unread(err error, it *item) *errorx.Error {
	typed := redis.AsErrorx(err)
	if _, quotes := typed.Property(redis.EKLine); it.internal && quotes {
		return typed.Type().New("%s", typed.Message())
	}
	return typed
}

// answerTyped lets a future decode the reply itself. Until that is done, only the reader may use
// the future, even if the session fails. It is called only if the logger wants no statistics.
func (r *reader) answerTyped(b *batch, next int) bool {
	if !b.claim(next) {
		return false
	}
	it := &b.items[next]
	res, err := it.future.(resp.ReplyDecoder).DecodeReply(r.dec, it.n)
	if err != nil {
		r.failTyped(b, next, redis.AsErrorx(err))
		return false
	}
	if r.dec.Size() >= LargeLeast {
		r.noteLarge(b, next)
	}
	r.finish(b, next, r.judge(b, next, res))
	return true
}

// LargeLeast is how large a reply is for Opts.Large to be called.
const LargeLeast = 1 << 20

// noteLarge calls Opts.Large with the request of item i.
func (r *reader) noteLarge(b *batch, i int) {
	if r.s.p.opts.Large == nil {
		return
	}
	if encoded := r.s.p.queue.encoded(b, i); encoded != nil {
		r.s.p.opts.Large(encoded)
	}
}

// failTyped ends the session, and resolves claimed item i, whose reply could not be read. Leftovers
// contain only unclaimed items.
func (r *reader) failTyped(b *batch, i int, err *errorx.Error) {
	r.s.fail(err)
	if err.IsOfType(redis.ErrIO) {
		err = r.s.unknownError() // the reason why the session has failed, which may be an earlier error
	} else {
		err = r.s.p.opts.WithConn(err)
	}
	r.s.p.queue.CountLeft(0, 1)
	it := &b.items[i]
	it.future.Resolve(timing.WithDelay(err, b.Delay(timing.Clock())), it.n)
}

// resolve reports item i to the logger, if the logger wants statistics, and resolves the item, even
// if the logger panics or ends the goroutine.
func (r *reader) resolve(b *batch, i int, got reply) {
	res := r.judge(b, i, got.res)
	if it := &b.items[i]; it.stat != nil {
		defer r.finish(b, i, res)
		r.s.p.Tell(it.stat, res, got.size, b.size(i))
		return
	}
	r.finish(b, i, res)
}

// judge returns the result of item i for its future, and counts it if it is an error.
func (r *reader) judge(b *batch, i int, res any) any {
	it := &b.items[i]
	if err, failed := res.(*errorx.Error); failed {
		err = r.named(b, i, err)
		switch {
		case it.internal:
		case err.IsOfType(redis.ErrProxy):
			b.unclear++
		default:
			b.refused++
		}
		return err
	}
	if results, ok := res.([]any); ok && it.exec && len(results) <= i {
		first := i - len(results)
		errs.Replace(results, func(j int, err *errorx.Error) *errorx.Error { return r.named(b, first+j, err) })
	}
	return res
}

// named adds the connection, and the request of a plain item, to the error of item i.
func (r *reader) named(b *batch, i int, err *errorx.Error) *errorx.Error {
	err = r.s.p.opts.WithConn(err)
	if b.items[i].plain {
		err = err.WithProperty(redis.EKRequest, b.request(i))
	}
	return err
}

// finish resolves item i. The last item of a batch is resolved after the batch was taken out of
// flight, so that a panic of the future leaves nothing half done. The exception is the last item
// that a reading caller waits for: its future is the library's own, and passRead or settle takes
// the batch out of flight afterwards.
func (r *reader) finish(b *batch, i int, res any) {
	it := &b.items[i]
	r.answered = max(r.answered, it.seq+1)
	fut, n, observed := it.future, it.n, it.observed // b no longer belongs to the reader once it is retired
	calls := fut != nil && it.caller == nil
	if calls {
		r.s.Socket.Calls.Start()
	}
	last := i+1 == len(b.items)
	switch more := r.dec.Buffered() > 0; {
	case !last:
	case r.answered == r.until && it.caller != nil && !more && r.s.raw != nil:
		r.cur, r.retired = nil, b
	default:
		r.cur = r.s.p.queue.retire(b, more)
		if more && r.cur == nil && r.canIdle { // more bytes have come, but nothing is in flight. Check before fut is resolved, because its caller may then send
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
		r.s.p.queue.countLastCallback()
	}
}

// mayIdle reports whether the right to read may stay free while nothing is pending. It may if the
// next writer can check the socket for unsolicited bytes (connCheck). If such bytes are here
// already, mayIdle ends the session.
func (r *reader) mayIdle() bool {
	if !r.canIdle {
		return false
	}
	buffered := r.dec.Buffered() > 0
	if r.s.raw != nil && !buffered {
		return true
	}
	if !r.s.p.queue.idle() {
		return false // something is pending: the bytes may answer it
	}
	err := sock.ErrUnsolicited
	if !buffered {
		err = r.s.readRecords(-time.Second) // the bytes that TLS has buffered
	}
	if err != nil {
		r.s.failCheck(err)
	}
	return true
}
