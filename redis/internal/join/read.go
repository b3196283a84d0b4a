package join

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/internal/values"
)

// Read is a read that is under way, and the future of its request, which goes on while one of its waiters
// waits.
type Read struct {
	shard   *shard
	request string
	stamp   uint64
	began   time.Time
	server  atomic.Pointer[send.Server] // that has answered

	// moves ends, by move, when the server has stalled and the waiters may leave it. It is nil if no other server
	// may answer.
	moves context.Context
	move  context.CancelFunc

	// shard.mu guards the fields below.
	waiters  []waiter
	room     [1]waiter // the memory of waiters, while there is only one
	resolved bool
	unwatch  func() bool // ends what Watch began; nil before
}

// Ticket returns the ticket of a waiter. If the server stalls, the waiter leaves, and sends its request again:
// all that do share one read again. None withdraws the request, for which others may wait.
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

// leaveTable makes others send a read of their own.
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

// Leave implements send.Staller: what Watch began has asked for all waiters.
func (*Read) Leave() bool { return true }

// Withdraw implements send.Withdrawer.
func (*Read) Withdraw(uint64) bool { return false }

// waiter is a future that gets the reply.
type waiter struct {
	to send.Future
	n  uint64
}

// end takes the read out of the table and returns its waiters. If there are more than most of them, it only
// returns them.
func (r *Read) end(most int) (waiters []waiter, ended bool) {
	r.shard.mu.Lock()
	defer r.shard.mu.Unlock()
	if waiters = r.waiters; len(waiters) > most {
		return waiters, false
	}
	r.leaveTableLocked()
	return waiters, true
}

// take is end for the last time.
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

// Resolve implements redis.Future. Each waiter gets a reply of its own; the last one gets res itself,
// because nobody may copy it after that.
func (r *Read) Resolve(res any, _ uint64) {
	waiters := r.take()
	server := r.server.Load()
	last := len(waiters) - 1
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

// Cancelled implements redis.Future. It returns an error if no waiter waits any more; then none can join.
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

// Observes implements send.Observer: a waiter that joins later may want to know.
func (*Read) Observes() bool { return true }

// AnsweredBy implements send.Observer.
func (r *Read) AnsweredBy(at send.Server) { r.server.Store(&at) }

var (
	_ send.Future   = (*Read)(nil)
	_ send.Observer = (*Read)(nil)
	_ send.Staller  = (*Read)(nil)
)
