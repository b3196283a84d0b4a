package dial

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/joomcode/redispipe/internal/aside"
)

// overdueMost bounds the calls of the user's functions that go on although nobody waits
// for them any more: a function that never returns must not cost a goroutine for each
// attempt to connect. Functions that respect their contexts are not overdue for long.
const overdueMost = 16

// overdue counts those calls of a Dialer. Each has a goroutine, which ends as soon as the
// function returns: it closes what that has returned, if there is something to close.
type overdue struct {
	calls    atomic.Int32
	panicked func(v any, stack []byte)
}

// callUntil calls f, one of the user's functions, and waits for it until ctx is done;
// name is for the error. f may also panic, or end its goroutine. A value that it returns
// later is passed to late.
func callUntil[T any](ctx context.Context, o *overdue, name string, f func() T, late func(T)) (v T, err error) {
	if n := o.calls.Load(); n >= overdueMost {
		return v, fmt.Errorf("%d calls of functions such as %s have not returned", n, name)
	}
	var over atomic.Bool // either f has ended, or nobody waits for it any more
	v, returned := aside.Until(ctx, func() T {
		defer func() {
			if over.Swap(true) {
				o.calls.Add(-1)
			}
		}()
		return f()
	}, late, o.panicked)
	switch {
	case returned:
		return v, nil
	case !over.Swap(true):
		o.calls.Add(1)
	case ctx.Err() == nil:
		return v, fmt.Errorf("a call of %s did not return", name)
	}
	return v, fmt.Errorf("%s did not return in time: %w", name, ctx.Err())
}
