package redis

import (
	"context"
	"iter"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/lifetime"
)

// Jobs iterates over jobs from the queue. It continues until ctx is done, the Sender is closed, or
// the caller leaves the loop. If a job was popped as ctx ended, the loop still delivers it. When it
// ends, it acknowledges the jobs for which Ack was called. If it has delivered no other jobs, it
// also gives back the jobs that it has taken but not delivered.
//
// An error comes with an empty Job. The caller may continue the loop after any error: the reader
// tries again after a pause that grows to a second. Without JobOpts.Ack, each error with an unknown
// outcome means that one job may be lost. With Ack no job is lost: if a pop has an unknown outcome,
// the reader delivers the job that it took, and it repeats an acknowledgement whose outcome is
// unknown. A job may be delivered twice if it was not acknowledged within MinIdle, if the reader
// did not reach the server for that long ([ErrJobTaken]), if an acknowledgement and a pop had
// unknown outcomes at the same time, or if a failover undid changes that the master had not
// replicated.
func (r *JobReader) Jobs(ctx context.Context) iter.Seq2[Job, error] {
	return func(yield func(Job, error) bool) {
		if err := r.check(); err != nil {
			yield(Job{}, err)
			return
		}
		switch {
		case ctx == nil:
			yield(Job{}, errs.Err(errs.NilContext()))
			return
		case !r.busy.CompareAndSwap(false, true):
			yield(Job{}, errs.Err(ErrJobBusy.New("another loop already uses this reader")))
			return
		}
		defer r.busy.Store(false)
		l := &jobLoop{JobReader: r}
		left := true // also if the body of the caller's loop panics
		if r.opts.Ack {
			defer func() {
				if err := l.leave(ctx); err != nil && !left {
					yield(Job{}, err)
				}
			}()
		}
		for ctx.Err() == nil {
			if !l.step(ctx, yield) {
				return
			}
		}
		left = false
	}
}

// jobLoop is one loop over a JobReader, in the goroutine of its user.
type jobLoop struct {
	*JobReader
	// polls is set if the Sender refuses blocking pops. pause grows while pops fail, or while a
	// polling reader finds no jobs.
	polls bool
	pause time.Duration
}

// step takes a job and delivers it. It returns false when the caller leaves the loop.
func (l *jobLoop) step(ctx context.Context, yield func(Job, error) bool) bool {
	job, taken, err := l.next(ctx)
	failure := errs.AsErrorx(err)
	switch {
	case taken: // deliver it even if ctx has ended
		l.pause = 0
		return yield(job, nil)
	case failure == nil:
		return true
	case failure.IsOfType(ErrUnblocked): // the server ended the command before it did anything
	case ctx.Err() != nil && !l.mustTell(failure):
	case !yield(Job{}, errs.Err(err)) || failure.IsOfType(errs.ErrContextClosed):
		return false
	}
	l.backOff(ctx)
	return true
}

// mustTell reports whether the loop delivers an error even though its context has ended.
func (l *jobLoop) mustTell(failure *errorx.Error) bool {
	return failure.IsOfType(ErrJobTaken) || !l.opts.Ack && OutcomeOf(failure) == OutcomeUnknown
}

// next returns the next job. taken is set if there is one.
func (l *jobLoop) next(ctx context.Context) (job Job, taken bool, err error) {
	if l.opts.Ack {
		if err := l.keep(ctx); err != nil {
			return Job{}, false, err
		}
	}
	if len(l.batch) == 0 {
		if err := l.pop(ctx); err != nil {
			return Job{}, false, err
		}
	}
	for len(l.batch) > 0 && (!l.opts.Ack || time.Since(l.checked) < l.opts.MinIdle/2) { // otherwise the reader checks in first
		d := l.batch[0]
		l.batch = l.batch[1:]
		if !l.opts.Ack {
			return Job{Payload: d.payload}, true, nil
		}
		if l.deliver(d) {
			return Job{Payload: d.payload, delivery: d}, true, nil
		}
	}
	return Job{}, false, nil
}

// deliver records that a job is delivered. It returns false if the job was acknowledged before.
func (l *jobLoop) deliver(d *delivery) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if d.state != jobWaits {
		return false
	}
	d.state, d.at = jobOpen, time.Now()
	return true
}

// add adds a job to the batch. With Ack, the job is in the reader's list.
func (l *jobLoop) add(payload []byte) {
	d := &delivery{payload: payload}
	l.batch = append(l.batch, d)
	if l.opts.Ack {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.held[d] = struct{}{}
		l.most = max(l.most, len(l.held))
	}
}

// pop takes a job out of the queue into the batch.
func (l *jobLoop) pop(ctx context.Context) error {
	res := l.take(ctx)
	err := errs.AsErrorx(res)
	switch {
	case err == nil:
	case err.IsOfType(errs.ErrCommandForbidden) && !l.polls:
		l.polls = true
		return nil
	default:
		if OutcomeOf(err) == OutcomeUnknown {
			l.doubt, l.stray = true, true
		}
		return err
	}
	switch res := res.(type) {
	case nil:
		if l.polls {
			l.backOff(ctx)
		} else {
			l.pause = 0
		}
		return nil
	case []byte:
		l.stayKnown()
		l.add(res)
		return nil
	case []any: // the answer to BLPOP: the key and the element
		if len(res) == 2 {
			if payload, ok := res[1].([]byte); ok {
				l.add(payload)
				return nil
			}
		}
	}
	return errs.ErrResponseUnexpected.New("a pop was answered with %T", res)
}

// take sends the command that takes one job.
func (l *jobLoop) take(ctx context.Context) any {
	queue, end := l.opts.Queue, l.end()
	switch block := min(jobBlockMost, l.opts.MinIdle/4).Seconds(); {
	case l.opts.Ack && l.polls:
		return l.db.Do(ctx, "LMOVE", queue, l.list(l.name), end, "RIGHT")
	case l.opts.Ack:
		return l.db.Do(ctx, "BLMOVE", queue, l.list(l.name), end, "RIGHT", block)
	case l.polls:
		return l.db.Do(ctx, end[:1]+"POP", queue)
	default:
		return l.db.Do(ctx, "B"+end[:1]+"POP", queue, int(jobBlockMost.Seconds()))
	}
}

// backOff waits. Each wait is longer than the one before, until a pop succeeds.
func (l *jobLoop) backOff(ctx context.Context) {
	l.pause = min(max(2*l.pause, groupPauseLeast), groupPauseMost)
	_, _ = lifetime.Pause(ctx, l.pause, nil)
}
