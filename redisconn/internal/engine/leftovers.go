package engine

import (
	"sync/atomic"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/timing"
	"github.com/joomcode/redispipe/redis"
)

// leftovers are the unanswered requests of a session, or of a failed attempt to start one.
type leftovers struct {
	p     *Pipe
	items []leftover
	// badReply, if not nil, is the result of the oldest written request, if it has a future.
	badReply *errorx.Error
	// notSent and unknown count users' requests by outcome.
	notSent, unknown uint64
	next             atomic.Int64
	ended            atomic.Int64  // number of resolved items
	done             chan struct{} // closed when all items are resolved
}

type leftover struct {
	item
	err  *errorx.Error
	sent []byte // the encoded request, if the item is plain
}

// Abandon resolves all requests that are queued or in flight when a session, or an attempt to
// make one, has failed. Those that were not written get unsent. The state must be one in
// which nothing is accepted. The session's writer then ends, and its reader as soon as no
// future blocks it.
func (p *Pipe) Abandon(s *Session, unsent *errorx.Error) {
	l := &leftovers{p: p}
	unknown := unsent
	if s != nil {
		unknown = s.unknownError()
		if s.badReply != nil {
			l.badReply = p.opts.WithConn(s.badReply)
		}
		defer close(s.quit)
	}
	inflight, open := p.queue.abort()
	l.collect(inflight, unsent, unknown)
	l.collect(open, unsent, unknown)
	p.queue.CountLeft(l.notSent, l.unknown)
	if l.unknown == 1 {
		for i := range l.items {
			l.items[i].err = errs.ClosedAt(l.items[i].err)
		}
	}
	l.resolveAll()
}

// leftoverPatience bounds how long Abandon waits for futures that block.
const leftoverPatience = 20 * time.Millisecond

// bulkMost is the length of the longest argument that servers accept by default. After a longer one
// they close the connection, often before their error can be read.
const bulkMost = 512 << 20

// collect claims the unclaimed items of a list of batches. An item gets unknown if any of its bytes
// were written, otherwise unsent.
func (l *leftovers) collect(b *batch, unsent, unknown *errorx.Error) {
	for oldest := b; b != nil; b = b.next {
		i := b.claimRest()
		if i == len(b.items) {
			continue
		}
		delay := l.p.queue.leftDelay(b, oldest)
		unsent, unknown := timing.WithDelay(unsent, delay), timing.WithDelay(unknown, delay)
		for ; i < len(b.items); i++ {
			it := b.items[i]
			err := unsent
			if it.start < b.sent {
				err = unknown
				if l.badReply != nil {
					err, l.badReply = l.badReply, nil
				} else if b.size(i) > bulkMost {
					err = errs.Like(err, err.Cause(), err.Message()+": the request has over 512 MiB, and servers refuse longer arguments (proto-max-bulk-len)")
				}
			}
			if it.multi || it.withdrawn {
				continue
			}
			if it.caller != nil { // a future before this one may block, so the caller must watch its context
				it.caller.Listen()
			}
			switch {
			case it.internal:
			case it.exec && !b.items[i-1].multi: // EXEC counts only in an empty transaction
			case err == unsent:
				l.notSent++
			default:
				l.unknown++
			}
			if it.future == nil {
				continue
			}
			left := leftover{item: it, err: err}
			if it.plain {
				left.sent = b.bytes(i)
			}
			l.items = append(l.items, left)
		}
	}
}

// resolveAll resolves all leftovers. It waits until that is done, so that leftovers are resolved
// before requests of the next socket. If a future blocks, resolveAll returns after
// leftoverPatience.
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

// begin starts to resolve all items in order, in goroutines of their own, because a future may
// block.
func (l *leftovers) begin() {
	l.done = make(chan struct{})
	l.work()
	go l.watch()
}

// work starts a goroutine that resolves items, one after the other, until none is left to begin.
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

// resolveItem resolves an item. It counts the item as done even if the future ends the goroutine.
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
	l.p.Resolve(it.future, err, it.n)
}

// watch is a goroutine that ends when the last item is begun or resolved. While futures block all
// workers, it doubles the number of workers at each tick.
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

// resolveCancelled resolves cancelled items in goroutines of its own. It does not wait, because its
// caller may have the right to write.
func (p *Pipe) resolveCancelled(items []cancelledItem) {
	if len(items) == 0 {
		return
	}
	l := &leftovers{p: p}
	for _, it := range items {
		err := p.opts.WithConn(errs.Because(redis.ErrRequestWithdrawn.New("cancelled before it was sent"), it.why))
		if it.plain {
			err = err.WithProperty(redis.EKRequest, it.stat.Req)
			it.plain = false
		}
		l.items = append(l.items, leftover{item: it.item, err: err})
	}
	l.begin()
}
