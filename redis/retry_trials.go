package redis

import (
	"context"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/send"
)

// trials are the attempts to send one request.
type trials struct {
	attempts errs.Attempts
	failed   []error // the first trialsKept of them
	closed   int     // how many ended because a proxy closed the connection; those at this request count twice
}

// closedMost is how many attempts may end because a proxy closed the connection, and half of it if no other
// request was in flight. Then the proxy does not know the command, and each further attempt would cost others
// their replies.
const closedMost = 4

// trialsKept bounds the errors that AttemptsOf returns.
const trialsKept = 16

// note records the error of an attempt, and reports whether another attempt may help.
func (t *trials) note(err *errorx.Error) bool {
	t.attempts.Failed(err)
	if len(t.failed) < trialsKept {
		t.failed = append(t.failed, errs.Err(err))
	}
	if closed, at := errs.ProxyClosed(err); at {
		t.closed += 2
	} else if closed {
		t.closed++
	}
	return t.closed < closedMost
}

// result returns the error of a request that is not sent again after err.
func (t *trials) result(err *errorx.Error) *errorx.Error {
	err = t.attempts.Result(err)
	if len(t.failed) > 1 {
		err = err.WithProperty(errs.EKAttempts, t.failed)
	}
	return err
}

// cancelled returns the error of a request whose context ended while it waited after err.
func (t *trials) cancelled(ctx context.Context, err *errorx.Error) *errorx.Error {
	if t.attempts.MayHaveRun() {
		return t.result(errs.ErrRequestCancelled.Wrap(ctx.Err(), "cancelled between two attempts, of which one may have run: %s", err.Message()))
	}
	return t.result(errs.Because(errs.Within(errs.Withdrawn(ctx), "%s", err.Message()), err))
}

// retry is a single request, or a transaction, that failed.
type retry struct {
	trials
	pacing
}

// after decides about a request whose attempt ended with an error, and waits until it is due again.
// y is the result of the previous call, or nil after the first attempt. If after returns nil, the
// request ends with the error.
func (r *retrier) after(ctx context.Context, y *retry, failed error, of send.Nature) (*retry, error) {
	err := errs.AsErrorx(failed)
	again := of.After(err)
	if y == nil {
		if !again.Waits() {
			return nil, failed
		}
		y = new(retry)
	}
	helps := y.note(err)
	switch {
	case ctx.Err() != nil, !again.Waits(), !helps, again.Sent() && !r.Take(1):
		return nil, y.result(err)
	}
	open := y.pause(ctx, r, err)
	switch {
	case ctx.Err() != nil:
		return nil, y.cancelled(ctx, err)
	case !open:
		return nil, y.result(err)
	}
	return y, nil
}
