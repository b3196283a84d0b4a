package redisconn

import (
	"sync/atomic"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/timing"
	"github.com/joomcode/redispipe/redis"
)

// leftovers are the requests of a session, or of an attempt to make one, that
// ended before they were answered.
type leftovers struct {
	c     *Connection
	items []leftover
	// badReply, if not nil, is for the oldest request that was written, if anybody
	// waits for it.
	badReply *errorx.Error
	// notSent and unknown count the requests of users by outcome.
	notSent, unknown uint64
	next             atomic.Int64
	ended            atomic.Int64  // items that are resolved
	done             chan struct{} // closed when all are
}

type leftover struct {
	item
	err  *errorx.Error
	sent []byte // the bytes of a plain request
}

// A future that holds its caller keeps the others waiting no longer than this.
const leftoverPatience = 20 * time.Millisecond

// collect takes over the items of a list of batches that nobody has claimed.
// They get unknown if any of their bytes were written, else unsent.
func (l *leftovers) collect(b *batch, unsent, unknown *errorx.Error) {
	for oldest := b; b != nil; b = b.next {
		i := b.claimRest()
		if i == len(b.items) {
			continue
		}
		delay := l.c.queue.leftDelay(b, oldest)
		unsent, unknown := timing.WithDelay(unsent, delay), timing.WithDelay(unknown, delay)
		for ; i < len(b.items); i++ {
			it := b.items[i]
			err := unsent
			if it.start < b.sent {
				err = unknown
				if l.badReply != nil {
					err, l.badReply = l.badReply, nil
				}
			}
			if it.fut == nil || it.multi {
				continue
			}
			if !it.exec || b.items[i-1].multi { // a transaction counts as its requests
				l.count(it.fut, err == unsent)
			}
			left := leftover{item: it, err: err}
			if it.plain {
				left.sent = b.bytes(i)
			}
			l.items = append(l.items, left)
		}
	}
}

func (l *leftovers) count(fut Future, notSent bool) {
	switch {
	case isOwn(fut):
	case notSent:
		l.notSent++
	default:
		l.unknown++
	}
}

// resolveAll resolves all, and waits for that, so that what is sent on the next socket
// is resolved after them, but no longer than for a future that holds its caller.
func (l *leftovers) resolveAll() {
	if len(l.items) == 0 {
		return
	}
	l.begin()
	select {
	case <-l.done:
	case <-time.After(leftoverPatience):
	}
}

// begin has all resolved, in order, in goroutines of their own: a future may block.
func (l *leftovers) begin() {
	l.done = make(chan struct{})
	l.work()
	go l.watch()
}

// work starts a goroutine that resolves until nothing is left to begin with.
func (l *leftovers) work() {
	go func() {
		for {
			i := l.next.Add(1) - 1
			if i >= int64(len(l.items)) {
				return
			}
			l.resolveItem(&l.items[i])
		}
	}()
}

// resolveItem counts a future as done that ends its goroutine, too.
func (l *leftovers) resolveItem(it *leftover) {
	defer func() {
		if l.ended.Add(1) == int64(len(l.items)) {
			close(l.done)
		}
	}()
	err := it.err
	if it.plain {
		err = err.WithProperty(redis.EKRequest, requestOf(it.sent))
	}
	l.c.resolveFuture(it.fut, err, it.n)
}

// watch is a goroutine that lasts until the last item is begun: when futures
// hold all that work, others go on, twice as many each time.
func (l *leftovers) watch() {
	ticker := time.NewTicker(leftoverPatience)
	defer ticker.Stop()
	workers := 1
	for last := int64(-1); ; {
		select {
		case <-l.done:
			return
		case <-ticker.C:
		}
		at := l.next.Load()
		if at >= int64(len(l.items)) {
			return
		}
		if at == last {
			for range workers {
				l.work()
			}
			workers *= 2
		}
		last = at
	}
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
