package rediscluster

import (
	"sync"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/wire"
	"github.com/joomcode/redispipe/redis"
)

// attempt is a request on its way: the future that a connection sees. It keeps
// the request encoded, for the case that it has to be sent again. It is
// recycled when the request is resolved.
type attempt struct {
	course
	cb  redis.Future
	n   uint64
	req wire.Request
	buf []byte // the attempt's own; req.Buf is in it
	// plain: the request did not come from package redis, which adds the
	// request to errors by itself.
	plain bool
}

// An attempt's buffer over this size is left to the garbage collector: one
// large request must not pin its size for ever.
const attemptKeptBuffer = 16 << 10

var attempts = sync.Pool{New: func() any { return &attempt{} }}

func (c *Cluster) newAttempt(cb redis.Future, n uint64) *attempt {
	a := attempts.Get().(*attempt)
	a.c, a.cb, a.n = c, cb, n
	return a
}

// keep copies a request that is encoded.
func (a *attempt) keep(r *wire.Request) {
	a.buf = append(a.buf[:0], r.Buf...)
	a.req = *r
	a.req.Buf, a.req.Ticket = a.buf, wire.Ticket{}
}

// raw notes that the request did not come from package redis: its future is the
// user's own.
func (a *attempt) raw() {
	a.plain, a.req.Waits = true, wire.Waits(a.cb)
}

// direct sets the way by the request and a policy.
func (a *attempt) direct(policy ReplicaPolicyEnum) {
	a.way = way{
		slot:     a.req.Slot,
		policy:   policy,
		replicas: policy.allowsReplica(a.req.ReplicaSafe),
		seed:     a.c.opts.RoundRobinSeed,
	}
}

// send is Send with a policy.
func (c *Cluster) send(policy ReplicaPolicyEnum, req redis.Request, cb redis.Future, n uint64) {
	a := c.newAttempt(cb, n)
	if err := a.Cancelled(); err != nil {
		a.giveUp(redis.ErrRequestWithdrawn.Wrap(err, "cancelled before it was sent"))
		return
	}
	var err error
	a.req, a.buf, err = redis.EncodeRequest(a.buf[:0], req, true)
	a.raw()
	if err != nil {
		a.finish(err)
		return
	}
	if refused := refusal(&a.req); refused != nil {
		a.giveUp(c.withCluster(refused))
		return
	}
	a.direct(policy)
	a.launch(a)
}

// sendEncoded is send for package redis.
func (c *Cluster) sendEncoded(policy ReplicaPolicyEnum, r *wire.Request, cb redis.Future, n uint64) {
	a := c.newAttempt(cb, n)
	a.keep(r)
	if refused := refusal(r); refused != nil {
		a.giveUp(c.withCluster(refused))
		return
	}
	a.direct(policy)
	l := c.topology.Load().route(a.way)
	if l == nil {
		a.launch(a)
		return
	}
	a.at = l
	a.hold(&l.pending)
	if c.draining.Load() {
		a.giveUp(c.errClosed())
		return
	}
	l.conn.SendEncoded(r, a, 0)
	l.own(r)
}

// sendTo implements passenger.
func (a *attempt) sendTo(l *link, asking bool) {
	if asking {
		l.conn.SendAsk(decode(&a.req), a, 0, true)
		return
	}
	l.conn.SendEncoded(&a.req, a, 0)
}

// Resolve implements redis.Future.
func (a *attempt) Resolve(res any, _ uint64) {
	if err, failed := res.(error); failed {
		a.settle(a, redis.AsErrorx(err))
		return
	}
	a.finish(res)
}

// NamesRequests implements wire.Namer.
func (a *attempt) NamesRequests() {}

// Cancelled implements redis.Future.
func (a *attempt) Cancelled() error {
	if a.cb == nil {
		return nil
	}
	return a.cb.Cancelled()
}

// Waits implements wire.Caller.
func (a *attempt) Waits() bool { return wire.Waits(a.cb) }

// GiveRead implements wire.Caller.
func (a *attempt) GiveRead(r wire.ReadRight) bool { return wire.GiveRead(a.cb, r) }

// DecodeReply implements wire.ReplyDecoder, for requests whose future does.
func (a *attempt) DecodeReply(d *redis.Decoder, _ uint64) (any, error) {
	return a.cb.(wire.ReplyDecoder[*redis.Decoder]).DecodeReply(d, a.n)
}

// mayRepeat implements passenger.
func (a *attempt) mayRepeat() bool { return a.req.ReadOnly }

// outlive implements passenger: the request is a copy already.
func (a *attempt) outlive() {}

// giveUp implements passenger.
func (a *attempt) giveUp(err *errorx.Error) {
	if _, named := err.Property(redis.EKRequest); a.plain && !named && len(a.req.Buf) > 0 {
		err = err.WithProperty(redis.EKRequest, decode(&a.req))
	}
	a.finish(err)
}

// finish resolves the request and ends the attempt.
func (a *attempt) finish(res any) {
	cb, n := a.cb, a.n
	a.hold(nil)
	a.recycle()
	if cb != nil {
		cb.Resolve(res, n)
	}
}

func (a *attempt) recycle() {
	buf := a.buf
	if cap(buf) > attemptKeptBuffer {
		buf = nil
	}
	*a = attempt{buf: buf}
	attempts.Put(a)
}

var _ wire.ReplyDecoder[*redis.Decoder] = (*attempt)(nil)
