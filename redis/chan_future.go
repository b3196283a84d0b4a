package redis

import (
	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/lifetime"
)

// ChanFutured wraps a Sender so that a call returns at once, with a future that the caller can wait
// for.
type ChanFutured struct {
	S Sender
}

// Send sends a request.
func (s ChanFutured) Send(r Request) *ChanFuture {
	f := newChanFuture()
	known(s.S).Send(r, f, 0)
	return f
}

// SendMany sends the requests as one batch.
func (s ChanFutured) SendMany(reqs []Request) ChanFutures {
	futures := make(ChanFutures, len(reqs))
	for i := range futures {
		futures[i] = newChanFuture()
	}
	known(s.S).SendMany(reqs, futures, 0)
	return futures
}

// SendTransaction sends requests between MULTI and EXEC.
func (s ChanFutured) SendTransaction(reqs []Request) *ChanTransaction {
	f := &ChanTransaction{ChanFuture: *newChanFuture()}
	known(s.S).SendTransaction(reqs, f, 0)
	return f
}

// ChanFuture is a future with a channel that is closed when the result has arrived. The methods
// of [ChanFutured] return it. A zero ChanFuture counts as cancelled, so no request is sent with it.
type ChanFuture struct {
	res  any
	done chan struct{} // nil in a zero ChanFuture
}

func newChanFuture() *ChanFuture { return &ChanFuture{done: make(chan struct{})} }

// Value waits for the result and returns it.
func (f *ChanFuture) Value() any {
	if err := f.Cancelled(); err != nil {
		return err
	}
	<-f.done
	return f.res
}

// Done returns a channel that is closed when the result has arrived.
func (f *ChanFuture) Done() <-chan struct{} {
	if err := f.Cancelled(); err != nil {
		return lifetime.Ended(err).Done()
	}
	return f.done
}

// Resolve implements Future.
func (f *ChanFuture) Resolve(res any, _ uint64) {
	if f.Cancelled() == nil {
		f.res = res
		close(f.done)
	}
}

// Cancelled implements Future.
func (f *ChanFuture) Cancelled() error {
	if f == nil || f.done == nil {
		return errs.ErrRequestWithdrawn.New("the future does not come from redis.ChanFutured")
	}
	return nil
}

// ChanFutures are the futures of several requests.
type ChanFutures []*ChanFuture

// Resolve implements Future: n is the index in f.
func (f ChanFutures) Resolve(res any, n uint64) { f[n].Resolve(res, n) }

// Cancelled implements Future.
func (f ChanFutures) Cancelled() error { return nil }

// ChanTransaction is the future of a transaction.
type ChanTransaction struct {
	ChanFuture
}

// Results waits for the transaction and returns the results of its requests, or the
// error that left it without results.
func (f *ChanTransaction) Results() ([]any, error) {
	return TransactionResponse(f.Value())
}
