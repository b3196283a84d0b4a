package redisconn

import (
	"bufio"
	"runtime/debug"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/wire"
	"github.com/joomcode/redispipe/redis"
)

// readBuffer is the size of a connection's read buffer.
const readBuffer = 32 << 10

// reader resolves futures in the order of the wire. It is used by whoever has
// the right to read: see lead.go.
type reader struct {
	s   *session
	dec *redis.Decoder
	cur *batch // the batch that is being answered
	// held are the replies of cur so far, with Opts.Integrity.
	held []reply

	interrupted chan struct{} // see await

	mayRest bool
	resting *time.Timer // stopped, but in rest
}

func newReader(s *session) *reader {
	r := &reader{
		s:           s,
		dec:         s.c.newDecoder(bufio.NewReaderSize(s, readBuffer)),
		interrupted: make(chan struct{}, 1),
		mayRest:     s.raw != nil && s.c.opts.Protocol != 3 && !s.c.opts.Integrity,
		resting:     time.NewTimer(restMost),
	}
	r.resting.Stop()
	return r
}

// reply is a result with the size that it had on the wire.
type reply struct {
	res  any
	size int
}

// newDecoder returns a decoder that accepts what the protocol allows.
func (c *Connection) newDecoder(in *bufio.Reader) *redis.Decoder {
	dec := redis.NewDecoder(in, c.opts.Limits)
	if c.opts.Protocol != 3 {
		dec.OnlyRESP2()
	}
	return dec
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
	for r.answer() && r.rest() {
	}
	return false
}

// answer reads one reply and resolves its request with it.
func (r *reader) answer() bool {
	if len(r.held) == 0 { // else a future has interrupted the release of replies
		if _, err := r.dec.Next(); err != nil {
			r.s.fail(redis.AsErrorx(err))
			return false
		}
	}
	if r.cur == nil {
		var why *errorx.Error
		if r.cur, why = r.s.c.queue.first(r.s); r.cur == nil {
			r.s.fail(why)
			return false
		}
	}
	b := r.cur
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
	if r.s.beats.strays(res, b.items[next].fut) {
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
		r.s.fail(redis.AsErrorx(err))
		it.fut.Resolve(r.s.c.withConn(redis.AsErrorx(err)), it.n)
		return false
	}
	r.resolve(b, next, reply{res, r.dec.Size()})
	return true
}

// resolve tells the logger, if it wants that, and resolves the item of index i, even
// if the logger panics or ends the goroutine.
func (r *reader) resolve(b *batch, i int, got reply) {
	if b.items[i].stat != nil {
		defer r.finish(b, i, got)
		r.stat(b, i, got)
		return
	}
	r.finish(b, i, got)
}

// finish resolves the item of index i. The last one of a batch is resolved when
// the batch is gone already, so that a panic leaves nothing half done.
func (r *reader) finish(b *batch, i int, got reply) {
	it := b.items[i]
	if err, failed := got.res.(*errorx.Error); failed {
		err = r.s.c.withConn(err)
		if it.plain {
			err = err.WithProperty(redis.EKRequest, b.request(i))
		}
		got.res = err
	} else if it.exec {
		b.nameElements(i, got.res)
	}
	if i+1 == len(b.items) {
		r.cur = r.s.c.queue.retire(b)
	}
	if it.fut == nil {
		return
	}
	it.fut.Resolve(got.res, it.n)
}

// stat tells the logger.
func (r *reader) stat(b *batch, i int, got reply) {
	defer func() {
		if v := recover(); v != nil {
			r.s.c.report(LogFuturePanic{Value: v, Stack: debug.Stack()})
		}
	}()
	it := &b.items[i]
	nanos := time.Since(it.stat.start).Nanoseconds()
	c := r.s.c
	c.opts.Logger.ReqStat(c, it.stat.req, got.res, nanos, int64(got.size), int64(it.end-b.begin(i)))
}
