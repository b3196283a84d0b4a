package rediscluster

import (
	"sync"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/inner"
	"github.com/joomcode/redispipe/internal/request"
	"github.com/joomcode/redispipe/internal/wire"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
)

// transaction is MULTI, encoded requests and EXEC, which are always sent together. As a
// future it gets the result of each request, and at the end that of EXEC.
type transaction struct {
	retrier
	wire.Passed
	n    uint64
	reqs []*wire.Request

	mu sync.Mutex // guards the rest
	// first is the number of the first request of the last attempt. Attempts have
	// different numbers, since the reader of a lost connection may resolve a reply of an
	// earlier attempt late.
	first uint64
	// refused is the first error with which a request was not queued by the
	// server, and so the reason why EXEC answers EXECABORT.
	refused *errorx.Error
	// ran: a request got an answer other than a refusal that passes, so it has run if MULTI
	// was refused.
	ran bool
}

// sendTransaction is SendTransaction with a policy.
func (w *within) sendTransaction(reqs []redis.Request, cb redis.Future, n uint64) {
	defer w.c.recovered() // as in send
	if len(reqs) == 0 {
		wire.ResolveEmpty(cb, n)
		return
	}
	t := &transaction{retrier: retrier{c: w.c}, Passed: wire.Passed{To: cb}, n: n}
	err := t.encode(reqs)
	if err == nil { // the error of a malformed request comes before that of keys of several slots
		t.spec, err = w.specOfAll("the transaction", t.reqs)
	}
	if err != nil {
		t.fail(err.WithProperty(redis.EKRequests, reqs))
		return
	}
	t.dispatch(t)
}

// encode encodes the requests.
func (t *transaction) encode(reqs []redis.Request) *errorx.Error {
	if err := t.Cancelled(); err != nil {
		return errCancelled(err)
	}
	var buf []byte
	encoded := make([]wire.Request, len(reqs))
	t.reqs = make([]*wire.Request, len(reqs))
	for i, req := range reqs {
		r := &encoded[i]
		var err error
		if *r, buf, err = request.Encode(buf, req, true); err != nil {
			return redis.ErrBatchFormat.Wrap(err, "request %d of the transaction is malformed", i)
		}
		r.Caller, r.Plain = t.Caller(), true // the connection names those that fail in EXEC
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
	t.mu.Lock()
	t.first += uint64(len(t.reqs)) + 1
	t.refused, t.ran = nil, false
	first := t.first
	t.mu.Unlock()
	inner.Of(conn).SendEncodedBatch(t.reqs, t, first, flags)
}

// noteReply notes the reply to a request that is to be queued. It returns false for that
// to EXEC.
func (t *transaction) noteReply(err *errorx.Error, n uint64) (queued bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n >= t.first+uint64(len(t.reqs)) {
		return false
	}
	if n >= t.first {
		t.ran = t.ran || !errs.Passes(err)
		if t.refused == nil {
			t.refused = err
		}
	}
	return true
}

// cause returns the error by which the retrier decides. That is the error of EXEC or, if
// a request was refused for a reason that passes and nothing has run, that refusal. If
// MULTI was refused, nothing has run only if each request was refused for such a reason.
func (t *transaction) cause(exec *errorx.Error) *errorx.Error {
	t.mu.Lock()
	defer t.mu.Unlock()
	multiRefused := exec.IsOfType(redis.ErrTransaction) && exec.Cause() != nil
	if errs.Passes(t.refused) && (exec.IsOfType(redis.ErrExecAbort) || multiRefused && !t.ran) {
		return t.refused
	}
	return exec
}

// Resolve implements redis.Future.
func (t *transaction) Resolve(res any, n uint64) {
	err := redis.AsErrorx(res)
	switch {
	case t.noteReply(err, n):
	case err == nil:
		t.finish(res)
	default:
		t.handleError(t, t.cause(err))
	}
}

// idempotent implements retryable.
func (t *transaction) idempotent() bool { return false }

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
	wire.Resolve(t.To, res, t.n)
}
