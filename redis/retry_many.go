package redis

import (
	"context"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/send"
)

// sendMany is SendMany for a waiting caller.
func (r *retrying) sendMany(ctx context.Context, reqs []Request, seen *send.Server) []any {
	r.Count(len(reqs))
	m := manyRetry{r: r.retrier, reqs: reqs, results: sendMany(ctx, r.Sender, reqs, seen)}
	for failed := m.failed(nil); len(failed) > 0 && m.wait(ctx, failed); failed = m.failed(failed) {
		part := make([]Request, len(failed))
		for i, at := range failed {
			part[i] = reqs[at]
		}
		for i, res := range sendMany(ctx, r.Sender, part, seen) {
			m.results[failed[i]] = res
		}
	}
	return m.results
}

// manyRetry is a batch with requests that may have failed.
type manyRetry struct {
	pacing
	r       *retrier
	reqs    []Request
	results []any
	trials  map[int]*trials // by index, for the requests that were sent again
}

// failed returns the indexes, in order, of the requests to send again. tried are the indexes of the
// last attempt; nil means all requests. The results of the other requests are final.
func (m *manyRetry) failed(tried []int) (again []int) {
	if tried != nil {
		for _, i := range tried {
			if m.repeats(i) {
				again = append(again, i)
			}
		}
		return again
	}
	for i := range m.results {
		if m.repeats(i) {
			again = append(again, i)
		}
	}
	return again
}

// repeats reports whether to send request i again.
func (m *manyRetry) repeats(i int) bool {
	err := errs.AsErrorx(m.results[i])
	if err == nil {
		return false
	}
	t := m.trials[i]
	may := m.r.nature(m.reqs[i].Cmd, m.reqs[i].Args).After(err)
	again := may.Waits() && (!may.Sent() || m.r.Take(1))
	if !again && t == nil {
		return false
	}
	if t == nil {
		if m.trials == nil {
			m.trials = make(map[int]*trials)
		}
		t = new(trials)
		m.trials[i] = t
	}
	if again = t.note(err) && again; !again {
		m.results[i] = t.result(err)
	}
	return again
}

// wait waits until the next attempt for the failed requests is due. If there is none, it sets their
// results and returns false.
func (m *manyRetry) wait(ctx context.Context, failed []int) bool {
	open := ctx.Err() == nil && m.pause(ctx, m.r, errs.AsErrorx(m.results[failed[0]]))
	if open && ctx.Err() == nil {
		return true
	}
	for _, i := range failed {
		err, t, req := errs.AsErrorx(m.results[i]), m.trials[i], m.reqs[i]
		if ctx.Err() != nil {
			err = t.cancelled(ctx, err)
		} else {
			err = t.result(err)
		}
		m.results[i] = traced(withRequest(err, req.Cmd, req.Args))
	}
	return false
}
