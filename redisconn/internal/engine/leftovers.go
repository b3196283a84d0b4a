package engine

import (
	"sync/atomic"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/sock"
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

// countPart counts the requests of b that were answered before the session failed;
// [queue.CountLeft] counts the others. answered is one more than the number of the last answered
// request. A transaction without an answer to EXEC is unknown.
func (q *queue) countPart(b *batch, answered uint64) {
	ended, unclear, transaction := 0, 0, false
	for i := range b.find(answered) {
		switch it := &b.items[i]; {
		case it.multi:
			transaction = true
		case it.exec:
			if b.items[i-1].multi { // EXEC counts only in an empty transaction
				unclear = 1
			}
			ended, unclear, transaction = ended+unclear, 0, false
		case it.internal:
		case transaction:
			unclear++
		default:
			ended++
		}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.countAnsweredLocked(b, ended)
	q.stats.Unknown += uint64(unclear)
}

// CountLeft counts requests that were not answered.
func (q *queue) CountLeft(notSent, unknown uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.stats.NotSent += notSent
	q.stats.Unknown += unknown
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

// StopWrites stops the writing of users' requests. A goroutine that is just about to write still
// does so, if the socket takes the bytes at once. Requests that are not written fail with the error
// closed. If a batch is written only in part, the session ends. stop waits until nobody writes any
// more.
func (p *Pipe) StopWrites(closed *errorx.Error) (stop func()) {
	left, writes := p.queue.withhold()
	l := &leftovers{p: p}
	l.collect(left, closed, closed)
	p.queue.CountLeft(l.notSent, 0)
	if len(l.items) > 0 {
		l.begin()
	}
	return func() {
		if writes != nil {
			writes.endWrite()
		}
	}
}

// endWrite waits until nobody has the right to write. A writer that waits for the socket gives up,
// which ends the session: see writeWaiting.
func (s *Session) endWrite() {
	if err := s.SetWriteDeadline(sock.LongAgo); err != nil {
		s.fail(redis.ErrIO.Wrap(err, "interrupting a write"))
	}
	s.p.queue.awaitRelease()
	_ = s.SetWriteDeadline(time.Time{})
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
