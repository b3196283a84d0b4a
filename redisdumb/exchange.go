package redisdumb

import (
	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/redis"
)

// chunkBytes is how much of a pipeline is written before its replies are read.
// It fits any socket's buffer, so that a server which stops reading until its
// replies are taken does not deadlock with us. One larger request is one chunk.
const chunkBytes = 16 << 10

// many does a pipeline and returns a result for each request.
func (c *Conn) many(reqs []redis.Request) []any {
	results, encoded := encode(reqs)
	if len(encoded) == 0 {
		return results
	}
	c.mu.Lock()
	c.pipelineLocked(encoded, results)
	c.mu.Unlock()
	for i, res := range results {
		if c.Type == TypeCluster {
			res = c.redirect(c.addr(), res, func(to *Conn, ask bool) any {
				return to.one(reqs[i], ask)
			})
		}
		results[i] = withRequest(res, reqs[i])
	}
	return results
}

// one sends r, after ASKING if ask is set.
func (c *Conn) one(r redis.Request, ask bool) any {
	if !ask {
		return c.many([]redis.Request{r})[0]
	}
	return c.many([]redis.Request{redis.Req("ASKING"), r})[1]
}

// transaction does reqs between MULTI and EXEC.
func (c *Conn) transaction(reqs []redis.Request) any {
	for _, r := range reqs {
		if command.BoundsTransaction(r.Cmd) {
			return withRequest(redis.CheckRequest(r, false), r)
		}
	}
	res := c.multi(reqs, false)
	if c.Type == TypeCluster {
		res = c.redirect(c.addr(), res, func(to *Conn, ask bool) any {
			return to.multi(reqs, ask)
		})
	}
	switch res := res.(type) {
	case *errorx.Error:
		return res.WithProperty(redis.EKRequests, reqs)
	case []any:
		for i := range min(len(res), len(reqs)) {
			res[i] = withRequest(res[i], reqs[i])
		}
	}
	return res
}

// multi makes one attempt at a transaction. The requests follow only when MULTI
// is accepted: otherwise they would run on their own.
func (c *Conn) multi(reqs []redis.Request, ask bool) any {
	results, encoded := encode(append(reqs[:len(reqs):len(reqs)], redis.Req("EXEC")))
	if encoded == nil {
		return ownError(results)
	}
	head := []redis.Request{redis.Req("MULTI")}
	if ask {
		head = []redis.Request{redis.Req("ASKING"), redis.Req("MULTI")}
	}
	opened, encodedHead := encode(head)

	c.mu.Lock()
	defer c.mu.Unlock()
	c.pipelineLocked(encodedHead, opened)
	if res := opened[len(opened)-1]; redis.AsError(res) != nil {
		return res
	}
	c.exchangeLocked(encoded, results) // never on another socket, on which they were no transaction
	exec := redis.ExecResult(opened[len(opened)-1], results[len(reqs)], len(reqs))
	for i, res := range results[:len(reqs)] {
		if refused := redis.AsErrorx(res); refused != nil {
			exec = errs.Aborted(exec, refused.WithProperty(redis.EKRequest, reqs[i]), i)
			break
		}
	}
	if err := redis.AsErrorx(exec); err != nil && err.IsOfType(redis.ErrExecAbort) {
		// A node that refuses to queue a request of another's slot says where
		// to go in the reply to that request.
		for _, res := range results[:len(reqs)] {
			if _, _, ok := movedTo(res); ok {
				return res
			}
		}
	}
	return exec
}

// encode encodes all requests or none: if one is malformed, it has its own
// error as a result, the others have ErrBatchFormat, and encoded is nil.
func encode(reqs []redis.Request) (results []any, encoded [][]byte) {
	results = make([]any, len(reqs))
	encoded = make([][]byte, 0, len(reqs))
	bad := false
	for i, r := range reqs {
		var buf []byte
		err := redis.CheckRequest(r, true)
		if err == nil {
			buf, err = redis.AppendRequest(nil, r)
		}
		if err != nil {
			results[i], bad = withRequest(redis.AsErrorx(err), r), true
			continue
		}
		encoded = append(encoded, buf)
	}
	if !bad {
		return results, encoded
	}
	for i, r := range reqs {
		if results[i] == nil {
			results[i] = redis.ErrBatchFormat.New("another request of the batch is malformed").
				WithProperty(redis.EKRequest, r)
		}
	}
	return results, nil
}

// ownError picks the error of a malformed request out of encode's results.
func ownError(results []any) any {
	for _, res := range results {
		if err := redis.AsErrorx(res); err != nil && !err.IsOfType(redis.ErrBatchFormat) {
			return err
		}
	}
	return results[0]
}

// withRequest notes the request on an error.
func withRequest(res any, r redis.Request) any {
	if err, ok := res.(*errorx.Error); ok {
		return err.WithProperty(redis.EKRequest, r)
	}
	return res
}

// cancelled returns the error for requests whose future was cancelled already.
func cancelled(cb redis.Future) *errorx.Error {
	if cb == nil {
		return nil
	}
	if err := cb.Cancelled(); err != nil {
		return redis.ErrRequestWithdrawn.Wrap(err, "cancelled before it was sent")
	}
	return nil
}
