package redisconn

import (
	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/queue"
	"github.com/joomcode/redispipe/redis"
)

// refuse resolves a request that was not queued.
func (c *Connection) refuse(cb Future, err *errorx.Error, n uint64) {
	if err.IsOfType(redis.ErrQueueFull) {
		if _, batch := err.Property(errs.EKCapacity); !batch {
			err = err.WithProperty(errs.EKCapacity, queue.Room{Queue: c.queue, Requests: 1})
		}
	}
	c.queue.CountLeft(1, 0)
	c.pipe.Resolve(cb, c.withConn(err), n)
}

// refuseBatch resolves the requests of a batch that was not queued. The request of index
// failed gets err; if it is malformed, the others get an error that says so.
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
		others = others.WithProperty(errs.EKCapacity, queue.Room{Queue: c.queue, Requests: len(reqs)})
	}
	for i := range reqs {
		if i == failed {
			c.refuse(cb, err, start+uint64(i))
		} else {
			c.refuse(cb, others.WithProperty(redis.EKRequest, reqs[i]), start+uint64(i))
		}
	}
	switch exec := start + uint64(len(reqs)); {
	case flags&DoTransaction == 0:
	case len(reqs) == 0:
		c.refuse(cb, others, exec)
	default: // a transaction counts as its requests
		c.pipe.Resolve(cb, c.withConn(others), exec)
	}
}
