package redis

import (
	"context"

	"github.com/joomcode/redispipe/internal/send"
)

// TakesJudge implements send.Judged. sendAndWait, which encodes the requests of pooled waiters, takes it.
func (w *waiter) TakesJudge() bool { return w.pooled && !w.blocks }

// judged does the same as result, for a request with a judge.
func (w *waiter) judged(ctx context.Context, ticket send.Ticket, t *target, seen *send.Server, by send.Judge) any {
	if r, ended := w.wait(ctx, &ticket); ended {
		w.ctx = leftJudge{judge: by}
		if err := w.left(ctx, ticket, r); err != nil {
			return err
		}
		w.ctx = nil
	}
	sample := w.sample()
	return by.Judged(w.taken(t, seen), sample)
}

// leftJudge takes the place of waiter.ctx when the caller of a request with a judge leaves. A field of its own would
// make the waiter larger.
type leftJudge struct {
	context.Context // nil, and never used
	judge           send.Judge
}

// forget ends the life of a waiter whose caller has left.
func (w *waiter) forget() {
	if left, ok := w.ctx.(leftJudge); ok {
		left.judge.Judged(w.res, w.sample())
		w.ctx = nil
	}
	w.recycle()
}

// judgedSample is how many results one result of the sample stands for: see send.Judge.
const judgedSample = 64

// sample returns how many results the result of this use of the waiter stands for, or 0.
func (w *waiter) sample() uint64 {
	if w.use%judgedSample == 0 {
		return judgedSample
	}
	return 0
}
