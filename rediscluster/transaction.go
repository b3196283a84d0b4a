package rediscluster

import (
	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/backend"
	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
)

// transaction is MULTI, encoded requests and EXEC, which are always sent together. It is the future
// of the result of EXEC.
type transaction struct {
	retrier
	send.Forward
	n    uint64
	reqs []*send.Request
}

// sendTransaction is SendTransaction with a policy.
func (w *routed) sendTransaction(reqs []redis.Request, cb redis.Future, n uint64) {
	defer w.c.recovered() // as in send
	if len(reqs) == 0 {
		send.ResolveEmpty(cb, n)
		return
	}
	t := &transaction{retrier: retrier{c: w.c}, Forward: send.Forward{To: cb}, n: n}
	t.request = t
	err := t.encode(reqs)
	if err == nil { // the error of a malformed request has priority over that of keys in several slots
		t.spec, err = w.specOfAll("the transaction", t.reqs)
	}
	if err != nil {
		t.fail(err.WithProperty(redis.EKRequests, reqs))
		return
	}
	t.dispatch()
}

// encode encodes the requests.
func (t *transaction) encode(reqs []redis.Request) *errorx.Error {
	if err := t.Cancelled(); err != nil {
		return errCancelled(err)
	}
	var buf []byte
	encoded := make([]send.Request, len(reqs))
	t.reqs = make([]*send.Request, len(reqs))
	for i, req := range reqs {
		r := &encoded[i]
		var err error
		if *r, buf, err = backend.Encode(buf, req, true); err != nil {
			return redis.ErrBatchFormat.Wrap(err, "the request at index %d of the transaction is malformed", i)
		}
		r.Caller, r.Plain = t.Caller(), true // the connection adds the request to an error within the reply to EXEC
		t.reqs[i] = r
	}
	return nil
}

// sendTo implements retryable.
func (t *transaction) sendTo(conn *redisconn.Connection, asking bool) {
	flags := redisconn.DoTransaction
	if asking {
		flags |= redisconn.DoAsking
	}
	backend.Of(conn).SendEncodedBatch(t.reqs, t, 0, flags)
}

// Resolve implements redis.Future. If EXEC failed because nothing has run, the retrier gets the reason
// instead of the reply to EXEC.
func (t *transaction) Resolve(res any, _ uint64) {
	err := redis.AsErrorx(res)
	if err == nil {
		t.finish(res)
		return
	}
	if reason, unrun := err.Property(errs.EKNotRun); unrun {
		err = reason.(*errorx.Error)
	}
	t.handleError(err)
}

// nature implements retryable.
func (t *transaction) nature() send.Nature {
	return send.Together(len(t.reqs), func(i int) send.Nature { return t.reqs[i].Nature() })
}

// fail implements retryable.
func (t *transaction) fail(err *errorx.Error) {
	if _, known := err.Property(redis.EKRequests); !known {
		reqs := make([]redis.Request, len(t.reqs))
		for i, r := range t.reqs {
			reqs[i] = decode(r)
		}
		err = err.WithProperty(redis.EKRequests, reqs)
	}
	t.finish(err)
}

func (t *transaction) finish(res any) {
	t.leave()
	send.Resolve(t.To, res, t.n)
}
