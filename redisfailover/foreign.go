package redisfailover

import (
	"context"
	"sync"

	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redis"
)

// foreign is the future of one request to a sender of another library. Such a sender may resolve the future
// twice, from any goroutine, and call its other methods at any time. So foreign passes on the first result, and
// from then on does not use its attempt, whose future may be reused for another request. It also has no method
// Caller: the caller must not get the right to read replies, because the sender may wait for something else
// before its Send returns.
type foreign struct {
	ctx      context.Context
	observes bool
	a        *attempt

	mu       sync.Mutex // guards the fields below; not held during calls of a's methods
	calls    int        // running calls of a's methods, apart from Resolve
	resolved bool
	res      any // the result, with its n; if calls are running, the last of them passes it on
	n        uint64
}

func newForeign(a *attempt) *foreign {
	return &foreign{ctx: a.Context(), observes: a.Observes(), a: a}
}

// Resolve implements redis.Future.
func (f *foreign) Resolve(res any, n uint64) {
	f.mu.Lock()
	first := !f.resolved
	if first {
		f.resolved, f.res, f.n = true, res, n
	}
	last := f.calls == 0
	f.mu.Unlock()
	if first && last {
		f.a.Resolve(res, n)
	}
}

// begin reports whether a method of a may be called. If so, the caller must call end afterwards.
func (f *foreign) begin() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.resolved {
		f.calls++
	}
	return !f.resolved
}

func (f *foreign) end() {
	f.mu.Lock()
	f.calls--
	last := f.resolved && f.calls == 0
	f.mu.Unlock()
	if last {
		f.a.Resolve(f.res, f.n)
	}
}

// Cancelled implements redis.Future.
func (f *foreign) Cancelled() error {
	if !f.begin() {
		return nil
	}
	defer f.end()
	return f.a.Cancelled()
}

// Context returns the context of the request, for send.ContextOf.
func (f *foreign) Context() context.Context { return f.ctx }

// Observes implements send.Observer.
func (f *foreign) Observes() bool { return f.observes }

// AnsweredBy implements send.Observer.
func (f *foreign) AnsweredBy(at send.Server) {
	if f.begin() {
		defer f.end()
		f.a.AnsweredBy(at)
	}
}

var (
	_ redis.Future  = (*foreign)(nil)
	_ send.Observer = (*foreign)(nil)
)
