package join

import (
	"sync/atomic"

	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/internal/values"
)

// Read is a read that is under way, and the future of its request, which goes on while one of its waiters
// waits.
type Read struct {
	shard   *shard
	request string
	stamp   uint64
	server  atomic.Pointer[send.Server] // that has answered

	waiters []waiter // guarded by shard.mu; nil when it has ended
}

// waiter is a future that gets the reply.
type waiter struct {
	to send.Future
	n  uint64
}

// end takes the read out of the table and returns its waiters. If there are more than most of them, and
// most is not negative, it only returns them.
func (r *Read) end(most int) (waiters []waiter, ended bool) {
	r.shard.mu.Lock()
	defer r.shard.mu.Unlock()
	if waiters = r.waiters; most >= 0 && len(waiters) > most {
		return waiters, false
	}
	if r.shard.reads[r.request] == r {
		delete(r.shard.reads, r.request)
	}
	return waiters, true
}

// Resolve implements redis.Future. Each waiter gets a reply of its own; the last one gets res itself,
// because nobody may copy it after that.
func (r *Read) Resolve(res any, _ uint64) {
	waiters, _ := r.end(-1)
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
)
