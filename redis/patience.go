package redis

import (
	"context"
	"sync/atomic"

	"github.com/joomcode/redispipe/internal/errs"
)

// patience is the context in which the caller of a request that moves reads replies: context.AfterFunc
// takes it to end when the caller's context does, or when the server stalls. Done heeds only the former.
type patience struct {
	context.Context
	stalled context.Context
}

// Err implements context.Context.
func (p *patience) Err() error {
	if err := p.Context.Err(); err != nil {
		return err
	}
	return p.stalled.Err()
}

// Value implements context.Context. It has none, so that package context asks AfterFunc.
func (*patience) Value(any) any { return nil }

// AfterFunc is for context.AfterFunc.
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

// What an attempt ends with that was taken back from a server that has stalled. The caller sends the
// request again.
var (
	errStalled       = errs.ErrIO.New("the server has stalled, and another may answer")
	errStalledUnsent = errs.ErrRequestWithdrawn.New("the server has stalled before the request was written")
)

// moved reports whether an attempt with that result was taken back from a server that has stalled, and
// records it.
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
