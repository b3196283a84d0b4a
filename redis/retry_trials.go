package redis

import (
	"context"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/internal/values"
)

// trials are the attempts to send one request.
type trials struct {
	attempts errs.Attempts
	failed   []error // the first trialsKept errors
	closed   int     // how many attempts ended because a proxy closed the connection
}

// closedMost and closedAlone bound the attempts that end because a proxy closed the connection. If
// there are so many, the proxy probably does not know the command, and each further attempt would
// cost other requests their replies.
const (
	closedMost  = 4
	closedAlone = 2 // if no other request was in flight at the last attempt; see also suspect
)

// trialsKept bounds the errors that AttemptsOf returns.
const trialsKept = 16

// note records the error of an attempt. It reports whether another attempt may help.
func (t *trials) note(err *errorx.Error) bool {
	t.attempts.Failed(err)
	if len(t.failed) < trialsKept {
		t.failed = append(t.failed, errs.Err(err))
	}
	closed, at := errs.ProxyClosed(err)
	if closed {
		t.closed++
	}
	return t.closed < closedMost && !(at && t.closed >= closedAlone)
}

// result returns the error of a request that is not sent again after err.
func (t *trials) result(err *errorx.Error) *errorx.Error {
	err = t.attempts.Result(err)
	if len(t.failed) > 1 {
		err = err.WithProperty(errs.EKAttempts, t.failed)
	}
	return err
}

// cancelled returns the error of a request whose context ended during the pause after err.
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

// after is called when an attempt has failed, and waits until the next attempt is due. y is the
// result of the previous call, or nil after the first attempt. If after returns a nil *retry, the
// request ends with the error. of is the nature of the request.
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

// suspect reports whether a proxy has closed the connection so often that the next attempt must use a
// connection without other requests.
func (t *trials) suspect() bool { return t.closed >= closedAlone }

// doAlone sends a suspect request on a dedicated connection, which no other request uses. If the proxy
// closes this connection, no other request loses its reply. ok is false if the sender has no dedicated
// connections.
func (r *retrying) doAlone(ctx context.Context, y *retry, cmd string, args []any, seen *send.Server) (res any, ok bool) {
	of, clones := r.nature(cmd, args), values.CloneArgs(args) // so that the arguments of the caller stay on its stack
	for {
		session, err := openSession(ctx, r.Sender, nil, nil)
		if err == nil {
			res = session.Do(cmd, clones...)
			if seen != nil {
				*seen = session.conn.Server()
			}
			session.Close()
			if err, ok = res.(error); !ok {
				return res, true
			}
		} else if errs.AsErrorx(err).IsOfType(ErrSession) {
			return nil, false
		}
		if y, err = r.after(ctx, y, err, of); y == nil {
			return traced(withRequest(err, cmd, args)), true
		}
	}
}
