package redisconn

import (
	"runtime/debug"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/wire"
	"github.com/joomcode/redispipe/redis"
)

// refuse resolves a request that was not queued.
func (c *Connection) refuse(cb Future, err *errorx.Error, n uint64) {
	if err.IsOfType(redis.ErrQueueFull) {
		if _, batch := err.Property(wire.EKCapacity); !batch {
			err = err.WithProperty(wire.EKCapacity, capacity{&c.queue, 1})
		}
	}
	c.resolveFuture(cb, c.withConn(err), n)
}

// refuseBatch resolves the requests of a batch that was not queued. The one of
// index failed has the error; if it is malformed, others are so by it.
func (c *Connection) refuseBatch(reqs []Request, cb Future, start uint64, flags int, err *errorx.Error, failed int) {
	others := err
	if failed >= 0 {
		err = err.WithProperty(redis.EKRequest, reqs[failed])
		if !err.IsOfType(redis.ErrRequestCancelled) {
			others = redis.ErrBatchFormat.Wrap(err, "request %d of the batch is malformed", failed)
		}
	}
	others = others.WithProperty(redis.EKRequests, reqs)
	if others.IsOfType(redis.ErrQueueFull) {
		others = others.WithProperty(wire.EKCapacity, capacity{&c.queue, len(reqs)})
	}
	for i := range reqs {
		if i == failed {
			c.refuse(cb, err, start+uint64(i))
		} else {
			c.refuse(cb, others.WithProperty(redis.EKRequest, reqs[i]), start+uint64(i))
		}
	}
	if flags&DoTransaction != 0 {
		c.refuse(cb, others, start+uint64(len(reqs)))
	}
}

// resolveFuture resolves a future in another place than the reader.
func (c *Connection) resolveFuture(cb Future, res any, n uint64) {
	if cb == nil {
		return
	}
	defer func() {
		if v := recover(); v != nil {
			c.report(LogFuturePanic{Value: v, Stack: debug.Stack()})
		}
	}()
	cb.Resolve(res, n)
}

// resolveCancelled has resolved what was dropped. It does not wait for that: the
// caller may be one of Send, and may have the right to write.
func (c *Connection) resolveCancelled(items []item) {
	if len(items) == 0 {
		return
	}
	l := &leftovers{c: c}
	for _, it := range items {
		err := c.withConn(redis.ErrRequestWithdrawn.New("cancelled before it was sent"))
		if it.plain {
			err = err.WithProperty(redis.EKRequest, it.stat.req)
			it.plain = false
		}
		l.items = append(l.items, leftover{item: it, err: err})
	}
	l.begin()
}
