package redisconn

import (
	"sync"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/wire"
	"github.com/joomcode/redispipe/redis"
)

// transaction is the future of MULTI, which has the number 0, of the requests after it, and
// of EXEC, which is last. What the answer to EXEC means depends on the answer to MULTI: see
// judge.
type transaction struct {
	wire.Passed
	c        *Connection
	start    uint64 // the first number that To is resolved with
	requests int
	whole    bool // To is resolved only once, with the result of EXEC

	mu      sync.Mutex    // guards the rest: leftovers are resolved in any order
	multi   any           // the answer to MULTI; "OK" unless it was something else
	refused *errorx.Error // the first error of a request that was to be queued, if there is one
	which   int           // the index of that request
}

func (c *Connection) newTransaction(cb Future, start uint64, requests int, whole bool) *transaction {
	return &transaction{Passed: wire.Passed{To: cb}, c: c, start: start, requests: requests, whole: whole, multi: "OK"}
}

// Resolve implements redis.Future.
func (t *transaction) Resolve(res any, n uint64) {
	exec := uint64(t.requests) + 1
	if err, failed := res.(*errorx.Error); failed && 0 < n && n < exec {
		t.note(err, int(n-1))
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

// note notes the error of the request of index i.
func (t *transaction) note(err *errorx.Error, i int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.refused == nil || i < t.which {
		t.refused, t.which = err, i
	}
}

// judge returns the result of the transaction.
func (t *transaction) judge(exec any) any {
	t.mu.Lock()
	multi, refused, which := t.multi, t.refused, t.which
	t.mu.Unlock()
	res := errs.Aborted(redis.ExecResult(multi, exec, t.requests), refused, which)
	if err, failed := res.(*errorx.Error); failed && res != exec {
		return t.c.withConn(err)
	}
	return res
}
