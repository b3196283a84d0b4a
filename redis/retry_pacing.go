package redis

import (
	"context"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/lifetime"
	"github.com/joomcode/redispipe/internal/send"
)

// pacing tells when to send a request again.
type pacing struct {
	since time.Time // when the request first failed
	n     int       // number of pauses so far
}

// Pauses between attempts grow from retryFirst to retryMost. Before the first retry there is no
// pause: it is sent as soon as there is a connection.
const (
	retryFirst = 2 * time.Millisecond
	retryMost  = 64 * time.Millisecond
)

// pause waits until the next attempt is due. err is the error of the last one. It returns false if
// there is no next attempt.
func (p *pacing) pause(ctx context.Context, r *retrier, err *errorx.Error) bool {
	if p.since.IsZero() {
		p.since = time.Now()
	}
	if r.waiting.Add(1); r.waiting.Load() > maxRetryWaiting {
		r.waiting.Add(-1)
		return false
	}
	defer r.waiting.Add(-1)
	if most, bounded := r.mostPause(ctx); bounded {
		left := most - time.Since(p.since)
		if left <= 0 {
			return false
		}
		timer := time.NewTimer(left)
		defer timer.Stop()
		return p.until(ctx, r, err, timer.C)
	}
	return p.until(ctx, r, err, nil)
}

// mostPause returns for how long a request may be sent again. bounded is false if only its context
// limits that.
func (r *retrier) mostPause(ctx context.Context) (most time.Duration, bounded bool) {
	if r.opts.Within > 0 {
		return r.opts.Within, true
	}
	_, bounded = ctx.Deadline()
	return retryWithin, !bounded
}

// until is pause with a limit: it returns false when over receives a value.
func (p *pacing) until(ctx context.Context, r *retrier, err *errorx.Error, over <-chan time.Time) bool {
	wait := func(due <-chan struct{}, dueAt <-chan time.Time) bool {
		select {
		case <-due:
		case <-dueAt:
		case <-r.ended: // the next attempt fails with the reason for the end
		case <-over:
			return false
		case <-ctx.Done():
			return false
		}
		return true
	}
	restored := r.restored(err)
	if restored != nil && !wait(restored, nil) {
		return false
	}
	if p.n++; p.n == 1 && errs.OutcomeOf(err) != errs.Refused {
		return true
	}
	timer := time.NewTimer(lifetime.Jitter(lifetime.DoubledPause(retryFirst, retryMost, p.n-1)))
	defer timer.Stop()
	return wait(nil, timer.C)
}

// restored returns a channel that is closed once the connection that the request failed on has
// reconnected or ended. It is nil if the sender can't tell, or if another connection may take the
// request: in a cluster, and in a client that fails over.
func (r *retrier) restored(err *errorx.Error) <-chan struct{} {
	conn, _ := err.Property(errs.EKConnection)
	s, ok := conn.(Sender)
	switch {
	case !ok:
		return nil
	case r.restorer != nil:
		return r.restorer.Restored()
	}
	if c, ok := send.BackendOf[Future](s).(send.Restorer); ok {
		return c.Restored()
	}
	return nil
}
