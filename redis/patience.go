package redis

import (
	"context"
	"sync/atomic"

	"github.com/joomcode/redispipe/internal/errs"
)

// patience is the context in which a caller reads replies while its request may move to another server.
// A function that is passed to context.AfterFunc runs when the caller's context ends or the server
// stalls. The channel of Done closes only when the caller's context ends.
type patience struct {
	context.Context
	stalled context.Context
}

// Done implements context.Context. For a context that never ends it returns nil, as package context
// expects.
func (p *patience) Done() <-chan struct{} {
	if done := p.Context.Done(); done != nil {
		return done
	}
	return p.stalled.Done()
}

// Err implements context.Context.
func (p *patience) Err() error {
	if err := p.Context.Err(); err != nil {
		return err
	}
	return p.stalled.Err()
}

// Value implements context.Context. It returns nil for every key. So package context does not look
// for a parent, and calls AfterFunc.
func (*patience) Value(any) any { return nil }

// AfterFunc is called by context.AfterFunc.
func (p *patience) AfterFunc(f func()) (stop func() bool) {
	var over atomic.Bool
	end := func() {
		if !over.Swap(true) {
			f()
		}
	}
	stopEnded, stopStalled := context.AfterFunc(p.Context, end), context.AfterFunc(p.stalled, end)
	return func() bool {
		stopEnded()
		stopStalled()
		return !over.Swap(true)
	}
}

// These are results of an attempt that was taken back from a stalled server. The caller then sends
// the request again.
var (
	errStalled       = errs.ErrIO.New("the server has stalled, and another may answer")
	errStalledUnsent = errs.ErrRequestWithdrawn.New("the server has stalled before the request was written")
)

// moved reports whether res is the result of an attempt that was taken back from a stalled server. If
// the attempt may have been written, moved adds it to attempts.
func moved(res any, attempts *errs.Attempts) bool {
	switch res {
	case any(errStalled):
		attempts.Failed(errStalled)
		return true
	case any(errStalledUnsent):
		return true
	}
	return false
}
