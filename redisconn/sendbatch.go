package redisconn

import (
	"slices"
	"sync"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/backend"
	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn/internal/engine"
)

// SendMany implements redis.Sender. It sends the requests as one batch; if one
// of them is malformed, it sends none.
func (c *Connection) SendMany(reqs []Request, cb Future, start uint64) {
	c.SendBatch(reqs, cb, start)
}

// SendBatch sends requests in order, as one batch. If one of them is malformed, it sends none. The
// malformed request fails with its own error, the others fail with redis.ErrBatchFormat.
func (c *Connection) SendBatch(reqs []Request, cb Future, start uint64) {
	c.SendBatchFlags(reqs, cb, start, 0)
}

// SendBatchFlags is [Connection.SendBatch] with the flags DoAsking and DoTransaction. With
// DoTransaction, each request is resolved with its answer within MULTI ("QUEUED"). Then cb is
// resolved with the answer to EXEC, under the number start+len(reqs).
func (c *Connection) SendBatchFlags(reqs []Request, cb Future, start uint64, flags int) {
	switch {
	case !c.opened() && flags&DoTransaction != 0:
		backend.Nobody.SendMany(append(slices.Clip(reqs), Request{Cmd: "EXEC"}), cb, start)
		return
	case !c.opened():
		backend.Nobody.SendMany(reqs, cb, start)
		return
	case flags&DoTransaction != 0:
		cb, start = c.newTransaction(cb, start, len(reqs), false), 1
	case len(reqs) == 0:
		return
	}
	c.sendBatch(reqs, cb, start, flags)
}

// sendBatch sends requests. With DoTransaction, cb must be a *transaction and start must be 1.
func (c *Connection) sendBatch(reqs []Request, cb Future, start uint64, flags int) {
	scratch := send.GetScratch()
	defer send.PutScratch(scratch)
	batch := scratch.Batch(len(reqs))
	failed, err := c.encodeBatch(scratch, batch, reqs, cb, flags)
	if err == nil {
		err = c.enterBatch(batch, cb, start, flags)
	}
	if err != nil {
		c.refuseBatch(reqs, cb, start, flags, err, failed)
	}
}

// enterBatch queues encoded requests. Depending on flags, ASKING precedes them, or MULTI (with the
// number start-1) and EXEC enclose them.
func (c *Connection) enterBatch(batch []*send.Request, cb Future, start uint64, flags int) *errorx.Error {
	if flags&DoTransaction != 0 && c.proxy.Load() && !c.opts.ScriptMode {
		return c.apart(batch, cb, flags&DoAsking != 0)
	}
	queuer, _ := cb.(send.Queuer)
	return c.pipe.Enter(batch, &engine.Entry{
		Future: cb, N: start, Asking: flags&DoAsking != 0, Transaction: flags&DoTransaction != 0, Queuer: queuer,
	})
}

// encodeBatch encodes the requests of one future. If it refuses one of them, failed is the index of
// that request, otherwise -1.
func (c *Connection) encodeBatch(s *send.Scratch, batch []*send.Request, reqs []Request, cb Future, flags int) (failed int, err *errorx.Error) {
	for i, r := range batch {
		if i == 0 {
			err = askFuture(r, cb)
		} else {
			r.Caller, r.Plain, r.Observed = batch[0].Caller, batch[0].Plain, batch[0].Observed
		}
		if err == nil {
			err = encodeTo(s, r, reqs[i])
		}
		if err == nil {
			err = c.checkEncoded(r, flags)
		}
		if err != nil {
			return i, err
		}
	}
	return -1, nil
}

// SendTransaction implements redis.Sender. It resolves cb with the array that EXEC returns. Without
// requests it sends nothing, and resolves cb at once with an empty array.
func (c *Connection) SendTransaction(reqs []Request, cb Future, start uint64) {
	switch {
	case !c.opened():
		backend.Nobody.SendTransaction(reqs, cb, start)
		return
	case len(reqs) == 0:
		send.ResolveEmpty(cb, start)
		return
	}
	c.sendBatch(reqs, c.newTransaction(cb, start, len(reqs), true), 1, DoTransaction)
}

// refuse resolves a request that was not queued.
func (c *Connection) refuse(cb Future, err *errorx.Error, n uint64) {
	c.pipe.CountLeft(1, 0)
	c.pipe.Resolve(cb, c.withConn(err), n)
}

// refuseBatch resolves the requests of a batch that was not queued. The request with index failed
// gets err. If it is malformed, the other requests get an error that names its index.
func (c *Connection) refuseBatch(reqs []Request, cb Future, start uint64, flags int, err *errorx.Error, failed int) {
	others := err
	if failed >= 0 {
		err = err.WithProperty(redis.EKRequest, reqs[failed])
		if !err.IsOfType(redis.ErrRequestCancelled) {
			others = redis.ErrBatchFormat.Wrap(err, "the request at index %d of the batch is malformed", failed)
		}
	}
	others = others.WithProperty(redis.EKRequests, reqs)
	results := len(reqs)
	if flags&DoTransaction != 0 {
		results++
	}
	send.Each(0, results, func(i int) {
		switch n := start + uint64(i); {
		case i == len(reqs) && i > 0: // EXEC counts only in an empty transaction
			c.pipe.Resolve(cb, c.withConn(others), n)
		case i == len(reqs):
			c.refuse(cb, others, n)
		case i == failed:
			c.refuse(cb, err, n)
		default:
			c.refuse(cb, others.WithProperty(redis.EKRequest, reqs[i]), n)
		}
	})
}

// transaction is the future of MULTI, which has the number 0, of the requests after it, and of
// EXEC, which is the last one. The meaning of the answer to EXEC depends on the answer to MULTI:
// see judge.
type transaction struct {
	send.Forward
	c        *Connection
	start    uint64 // the first number that To is resolved with
	requests int
	whole    bool // To is resolved only once, with the result of EXEC

	mu      sync.Mutex    // guards the fields below, because leftovers are resolved in any order
	multi   any           // the answer to MULTI; "OK" before it arrives
	refused *errorx.Error // the first error of a request that the server should have queued, or nil
	which   int           // the index of the refused request
	ran     bool          // if MULTI was refused, at least one request has run: it was not refused for a temporary reason
}

func (c *Connection) newTransaction(cb Future, start uint64, requests int, whole bool) *transaction {
	return &transaction{Forward: send.Forward{To: cb}, c: c, start: start, requests: requests, whole: whole, multi: "OK"}
}

// Resolve implements redis.Future.
func (t *transaction) Resolve(res any, n uint64) {
	exec := uint64(t.requests) + 1
	if 0 < n && n < exec {
		t.note(redis.AsErrorx(res), int(n-1))
	}
	switch {
	case n == 0:
		t.mu.Lock()
		t.multi = res
		t.mu.Unlock()
	case t.To == nil || n < exec && t.whole:
	case n < exec:
		t.To.Resolve(res, t.start+n-1)
	case t.whole:
		t.To.Resolve(t.judge(res), t.start)
	default:
		t.To.Resolve(t.judge(res), t.start+n-1)
	}
}

// note records the error of request i, or nil if it has none.
func (t *transaction) note(err *errorx.Error, i int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ran = t.ran || !errs.Passes(err)
	if err != nil && (t.refused == nil || i < t.which) {
		t.refused, t.which = err, i
	}
}

// judge returns the result of the transaction. exec is the answer to EXEC.
func (t *transaction) judge(exec any) any {
	t.mu.Lock()
	multi, refused, which, ran := t.multi, t.refused, t.which, t.ran
	t.mu.Unlock()
	res := errs.Aborted(redis.ExecResult(multi, exec, t.requests), refused, which)
	err, failed := res.(*errorx.Error)
	if !failed || res == exec {
		return res
	}
	if errs.Passes(refused) && (err.IsOfType(redis.ErrExecAbort) || !ran && redis.AsErrorx(multi) != nil) {
		err = err.WithProperty(errs.EKNotRun, refused)
	}
	return t.c.withConn(err)
}
