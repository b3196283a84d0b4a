package redisfailover

import (
	"context"
	"sync"

	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redis"
)

// foreign is the future of one request to a sender of another library. Such a sender may resolve the future
// twice, from any goroutine, and call its other methods at any time. So once it is resolved, foreign drops
// its attempt, whose future may be reused for another request. It also has no method Caller: the caller must
// not get the right to read replies, because the sender may wait for something else before its Send returns.
type foreign struct {
	ctx      context.Context
	observes bool

	mu sync.Mutex // guards a; held during calls of a's methods, except Resolve
	a  *attempt   // nil once the future is resolved
}

func newForeign(a *attempt) *foreign {
	return &foreign{ctx: a.Context(), observes: a.Observes(), a: a}
}

// Resolve implements redis.Future.
func (f *foreign) Resolve(res any, n uint64) {
	f.mu.Lock()
	a := f.a
	f.a = nil
	f.mu.Unlock()
	if a != nil {
		a.Resolve(res, n)
	}
}

// Cancelled implements redis.Future.
func (f *foreign) Cancelled() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.a == nil {
		return nil
	}
	return f.a.Cancelled()
}

// Context returns the context of the request, for send.ContextOf.
func (f *foreign) Context() context.Context { return f.ctx }

// Observes implements send.Observer.
func (f *foreign) Observes() bool { return f.observes }

// AnsweredBy implements send.Observer.
func (f *foreign) AnsweredBy(at send.Server) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.a != nil {
		f.a.AnsweredBy(at)
	}
}

var (
	_ redis.Future  = (*foreign)(nil)
	_ send.Observer = (*foreign)(nil)
)
