package redisdumb

import (
	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/redis"
)

// chunkBytes is how much of a pipeline is written before its replies are read.
// It fits any socket's buffer, so a server that stops reading until its
// replies are read can't cause a deadlock. A larger request is a chunk of its own.
const chunkBytes = 16 << 10

// many sends a pipeline and returns a result for each request.
func (c *Conn) many(reqs []redis.Request) []any {
	results := make([]any, len(reqs))
	if c == nil {
		fill(results, errs.NoSender())
		return results
	}
	encoded, bad, failed := encode(reqs, false)
	if bad != nil {
		others := malformed(reqs, bad, failed)
		for i, r := range reqs {
			results[i] = withRequest(others, r)
		}
		results[failed] = bad
		return results
	}
	if len(reqs) == 0 {
		return results
	}
	c.mu.Lock()
	c.pipelineLocked(encoded, results)
	c.mu.Unlock()
	for i, res := range results {
		if c.Type == TypeCluster {
			res = c.redirect(c.addr(), res, func(to *Conn, ask bool) any {
				return to.single(reqs[i], ask)
			})
		}
		results[i] = withRequest(res, reqs[i])
	}
	return results
}

// single sends r, after ASKING if ask is set.
func (c *Conn) single(r redis.Request, ask bool) any {
	if !ask {
		return c.many([]redis.Request{r})[0]
	}
	return c.many([]redis.Request{redis.Req("ASKING"), r})[1]
}

// transaction sends reqs between MULTI and EXEC.
func (c *Conn) transaction(reqs []redis.Request) any {
	if c == nil {
		return errs.NoSender()
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
			res[i] = withRequest(c.advised(res[i]), reqs[i])
		}
	}
	return res
}

// multi makes one attempt at a transaction. It sends the requests only after the server has accepted
// MULTI: otherwise they would run outside of a transaction.
func (c *Conn) multi(reqs []redis.Request, ask bool) any {
	encoded, bad, failed := encode(reqs, true)
	if bad != nil {
		return malformed(reqs, bad, failed)
	}
	head, exec := []redis.Request{redis.Req("MULTI")}, redis.Req("EXEC")
	if ask {
		head = []redis.Request{redis.Req("ASKING"), redis.Req("MULTI")}
	}
	encodedHead, _, _ := encode(head, false)
	end, _ := redis.AppendRequest(nil, exec)
	opened, results := make([]any, len(head)), make([]any, len(reqs)+1)

	c.mu.Lock()
	defer c.mu.Unlock()
	c.pipelineLocked(encodedHead, opened)
	multi := opened[len(opened)-1]
	if redis.AsError(multi) != nil {
		return withRequest(multi, redis.Req("MULTI"))
	}
	c.exchangeLocked(append(encoded, end), results) // without dialing: on a new socket the requests would run outside of the transaction
	res := redis.ExecResult(multi, withRequest(results[len(reqs)], exec), len(reqs))
	for i, queued := range results[:len(reqs)] {
		if refused := redis.AsErrorx(queued); refused != nil {
			return errs.Aborted(res, refused.WithProperty(redis.EKRequest, reqs[i]), i)
		}
	}
	return res
}

// encode encodes all requests or none: bad is the error of the first malformed one, and
// failed its index. The requests of a transaction must not start or end one.
func encode(reqs []redis.Request, transaction bool) (encoded [][]byte, bad *errorx.Error, failed int) {
	for i, r := range reqs {
		var buf []byte
		err := redis.CheckRequest(r, !transaction || !command.BoundsTransaction(r.Cmd))
		if err == nil {
			buf, err = redis.AppendRequest(nil, r)
		}
		if err != nil {
			return nil, redis.AsErrorx(err).WithProperty(redis.EKRequest, r), i
		}
		encoded = append(encoded, buf)
	}
	return encoded, nil, 0
}

// malformed returns the error of requests that are not sent because one is malformed.
func malformed(reqs []redis.Request, bad *errorx.Error, failed int) *errorx.Error {
	return redis.ErrBatchFormat.Wrap(bad, "the request at index %d of the batch is malformed", failed).
		WithProperty(redis.EKRequests, reqs)
}

// advised converts errors of proxies, and adds advice to other errors, as a redisconn.Connection does.
func (c *Conn) advised(res any) any {
	if err, ok := res.(*errorx.Error); ok {
		return errs.Advised(errs.Proxied(err, false), c.Type != TypeCluster)
	}
	return res
}

// withRequest adds the request to an error.
func withRequest(res any, r redis.Request) any {
	if err, ok := res.(*errorx.Error); ok {
		return err.WithProperty(redis.EKRequest, r)
	}
	return res
}

// cancelled returns the error for requests whose future is already cancelled.
func cancelled(cb redis.Future) *errorx.Error {
	if cb == nil {
		return nil
	}
	if err := cb.Cancelled(); err != nil {
		return redis.ErrRequestWithdrawn.Wrap(err, "cancelled before it was sent")
	}
	return nil
}
