package rediscluster

import (
	"context"
	"strings"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/inner"
	"github.com/joomcode/redispipe/internal/slot"
	"github.com/joomcode/redispipe/internal/topology"
	"github.com/joomcode/redispipe/internal/wire"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
)

// OpenDedicated implements wire.Inner: it lends a connection to the master of keys, by the
// rules by which a request is sent to it. last is with what the connection before was
// lost. A redirect is none of that: if it still holds, the node says so once more.
func (w *within) OpenDedicated(ctx context.Context, keys []string, last error) (wire.Dedicated, error) {
	c, reqs := w.c, make([]*wire.Request, len(keys))
	for i, key := range keys {
		reqs[i] = &wire.Request{Slot: int(slot.Of(key))}
	}
	spec, refused := c.specOfAll(reqs, MasterOnly)
	if refused != nil {
		return nil, refused
	}
	if err := redis.AsErrorx(last); err != nil && !err.IsOfType(redis.ErrAsk) {
		c.ForceReloading()
	}
	spec.blocks = true
	l := &lent{retrier: retrier{c: c, spec: spec}, ctx: ctx, next: make(chan lending, 1)}
	l.dispatch(l)
	if err := l.borrow(<-l.next); err != nil {
		return nil, err
	}
	return l, nil
}

// lent is a session's connection. It follows redirects as long as they are all that the
// session has been answered: nothing stands on the connection then. Later they are
// results like others. What it retries is to borrow a connection.
type lent struct {
	retrier
	wire.Dedicated
	ctx  context.Context // of the session
	next chan lending    // what the retrier has decided
	used bool            // something was not redirected
}

// lending is by which connection one is to be borrowed, or why by none.
type lending struct {
	from   *redisconn.Connection
	asking bool
	err    *errorx.Error
}

// sendTo implements retryable.
func (l *lent) sendTo(conn *redisconn.Connection, asking bool) {
	l.next <- lending{from: conn, asking: asking}
}

// fail implements retryable.
func (l *lent) fail(err *errorx.Error) { l.next <- lending{err: err} }

// idempotent implements retryable: nothing of the user's is sent.
func (l *lent) idempotent() bool { return true }

// Cancelled implements retryable.
func (l *lent) Cancelled() error { return l.ctx.Err() }

// Context is for wire.ContextOf.
func (l *lent) Context() context.Context { return l.ctx }

// borrow borrows a connection, by one of the cluster's after the other as the retrier decides.
func (l *lent) borrow(n lending) error {
	for n.err == nil {
		conn, err := inner.Of(n.from).OpenDedicatedAsk(l.ctx, n.asking)
		if err == nil {
			l.countIn(nil)
			l.Dedicated, l.failed, l.tries.Retries = conn, time.Time{}, 0
			return nil
		}
		l.handleError(l, redis.AsErrorx(err))
		n = <-l.next
	}
	l.countIn(nil)
	l.Dedicated = gone{n.err}
	return n.err
}

// gone is in the place of a connection that could not be borrowed.
type gone struct{ why error }

// Exchange implements wire.Dedicated.
func (g gone) Exchange(context.Context, []wire.Request, func(int, any)) error {
	return redis.ErrSessionLost.Wrap(g.why, "the session has no connection: open another one")
}

// Place implements wire.Dedicated.
func (g gone) Place() wire.Place { return wire.Place{} }

// Release implements wire.Dedicated.
func (g gone) Release() {}

// Exchange implements wire.Dedicated.
func (l *lent) Exchange(ctx context.Context, reqs []wire.Request, each func(int, any)) error {
	for !l.used && len(reqs) > 0 {
		var results []any
		err := l.Dedicated.Exchange(ctx, reqs, func(_ int, res any) { results = append(results, res) })
		moved := redirectOf(reqs, results)
		if moved != nil && err == nil {
			l.handleError(l, moved)
			if n := <-l.next; n.err == nil {
				l.Dedicated.Release() // first: a caller that holds one and waits for another can wait forever
				if err := l.borrow(n); err != nil {
					return err
				}
				continue
			}
			l.countIn(nil) // nobody follows: it is the result
		}
		l.used = moved == nil
		for i, res := range results {
			l.note(res)
			each(i, res)
		}
		return err
	}
	return l.Dedicated.Exchange(ctx, reqs, func(i int, res any) {
		l.note(res)
		each(i, res)
	})
}

// note has the topology read again, if a result says that it has changed.
func (l *lent) note(res any) {
	if err, failed := res.(*errorx.Error); failed {
		l.learn(topology.Redirect(err, topology.Tries{}, false, l.c.limits))
	}
}

// redirectOf returns the first redirect that requests were answered with, if none of
// them has run or changed its connection: a transaction that MULTI has begun has not if
// EXEC failed.
func redirectOf(reqs []wire.Request, results []any) (moved *errorx.Error) {
	last := len(reqs) - 1
	transaction := strings.EqualFold(reqs[0].Cmd, "MULTI") && strings.EqualFold(reqs[last].Cmd, "EXEC") &&
		len(results) > 0 && redis.AsErrorx(results[0]) == nil
	for i, res := range results {
		err := redis.AsErrorx(res)
		switch {
		case err != nil && (err.IsOfType(redis.ErrMoved) || err.IsOfType(redis.ErrAsk)):
			if moved == nil {
				moved = err
			}
		case transaction && (i < last || err != nil && err.IsOfType(redis.ErrExecAbort)):
		default:
			return nil
		}
	}
	return moved
}
