package join

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/internal/values"
)

// Read is a read that is under way. It is the future of the read's request, which continues as long
// as any waiter waits.
type Read struct {
	shard   *shard
	request string
	stamp   uint64
	began   time.Duration // since Table.start
	// observed is set if the first waiter wants to know the server that has answered. Only such reads record the
	// server, so a waiter that wants to know it joins no other read.
	observed bool
	server   atomic.Pointer[send.Server]

	// moves ends when the server has stalled and the waiters may leave it; move ends it. moves is
	// nil if no other server may answer.
	moves context.Context
	move  context.CancelFunc

	// shard.mu guards the fields below.
	waiters  []waiter
	room     [1]waiter // the memory of waiters while there is only one
	resolved bool
	unwatch  func() bool // ends what Watch began; nil before Watch was called
}

// Ticket returns the ticket of a waiter. If the server stalls, all waiters leave and send their
// requests again, and these share one read. A waiter does not withdraw the request, because
// others may wait for it.
func (r *Read) Ticket() send.Ticket {
	if r.moves == nil {
		return send.Ticket{}
	}
	return send.Ticket{Queue: r, Moves: true}
}

// Watch makes the waiters leave a server when it stalls.
func (r *Read) Watch(s send.Staller) {
	stalled := s.Stalled()
	r.shard.mu.Lock()
	defer r.shard.mu.Unlock()
	if r.moves == nil || r.resolved {
		return
	}
	r.unwatch = context.AfterFunc(stalled, func() {
		r.leaveTable()
		if s.Leave() {
			r.move()
		} else {
			r.Watch(s)
		}
	})
}

// leaveTable takes the read out of the table, so that later requests send another read.
func (r *Read) leaveTable() {
	r.shard.mu.Lock()
	defer r.shard.mu.Unlock()
	r.leaveTableLocked()
}

func (r *Read) leaveTableLocked() {
	if r.shard.reads[r.request] == r {
		delete(r.shard.reads, r.request)
	}
}

// Stalled implements send.Staller.
func (r *Read) Stalled() context.Context { return r.moves }

// Leave implements send.Staller. It returns true, because Watch has asked for all waiters.
func (*Read) Leave() bool { return true }

// Withdraw implements send.Withdrawer.
func (*Read) Withdraw(uint64) bool { return false }

// waiter is a future that gets the reply.
type waiter struct {
	to send.Future
	n  uint64
}

// end takes the read out of the table and returns its waiters. If there are more than most waiters,
// the read stays in the table and ended is false.
func (r *Read) end(most int) (waiters []waiter, ended bool) {
	r.shard.mu.Lock()
	defer r.shard.mu.Unlock()
	if waiters = r.waiters; len(waiters) > most {
		return waiters, false
	}
	r.leaveTableLocked()
	return waiters, true
}

// take ends the read, no matter how many waiters there are, and returns them.
func (r *Read) take() []waiter {
	r.shard.mu.Lock()
	defer r.shard.mu.Unlock()
	r.leaveTableLocked()
	r.resolved = true
	if r.unwatch != nil {
		r.unwatch()
	}
	return r.waiters
}

// Resolve implements redis.Future. Each waiter gets its own copy of the reply, except the last one,
// which gets res itself: nobody copies res after that.
func (r *Read) Resolve(res any, _ uint64) {
	waiters := r.take()
	server := r.server.Load()
	last := len(waiters) - 1
	if last == 0 && server == nil {
		waiters[0].to.Resolve(res, waiters[0].n)
		return
	}
	bytes, isText := res.([]byte)
	text := ""
	if isText && last > 0 {
		text = string(bytes)
	}
	send.Each(0, len(waiters), func(i int) {
		w := waiters[i]
		if server != nil && send.Observes(w.to) {
			send.AnsweredBy(w.to, *server)
		}
		taker, takes := w.to.(send.TextTaker)
		switch {
		case i == last:
			w.to.Resolve(res, w.n)
		case isText && takes:
			taker.ResolveText(text, w.n)
		default:
			w.to.Resolve(values.CopyResult(res), w.n)
		}
	})
}

// Cancelled implements redis.Future. It returns an error if no waiter waits any more. Then no
// further waiter can join.
func (r *Read) Cancelled() error {
	var why error
	for asked := 0; ; {
		waiters, ended := r.end(asked)
		for _, w := range waiters[asked:] {
			if why = send.WhyCancelled(w.to); why == nil {
				return nil
			}
		}
		if ended {
			return why
		}
		asked = len(waiters)
	}
}

// Observes implements send.Observer.
func (r *Read) Observes() bool { return r.observed }

// AnsweredBy implements send.Observer.
func (r *Read) AnsweredBy(at send.Server) { r.server.Store(&at) }

var (
	_ send.Future   = (*Read)(nil)
	_ send.Observer = (*Read)(nil)
	_ send.Staller  = (*Read)(nil)
)
