package rediscluster

import (
	"context"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/backend"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/internal/slot"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
)

// OpenDedicated implements send.Backend: it opens a connection for a user's session to the master
// of keys. If the master is not connected, it waits and tries again as a request does. last is the
// error that ended the session's last connection. After such an error the cluster reads the topology
// again, except after ASK, because the slot then still has its master.
func (w *routed) OpenDedicated(ctx context.Context, keys []string, last error) (send.Dedicated, error) {
	reqs := make([]*send.Request, len(keys))
	for i, key := range keys {
		reqs[i] = &send.Request{Slot: int(slot.Of(key))}
	}
	spec, refused := w.c.with(MasterOnly).specOfAll("the session", reqs)
	if refused != nil {
		return nil, refused
	}
	if err := redis.AsErrorx(last); err != nil && !err.IsOfType(redis.ErrAsk) {
		w.c.ForceReloading()
	}
	spec.blocks = true
	s := &sessionConn{retrier: retrier{c: w.c, spec: spec}, ctx: ctx, chosen: make(chan choice, 1)}
	s.request = s
	s.dispatch()
	if err := s.open(<-s.chosen); err != nil {
		return nil, err
	}
	return s, nil
}

// sessionConn is the connection of a user's session. Its retrier chooses the node in the same way as for
// a request, and another node after a failure. But it sends nothing: it reports its choice on chosen.
// sessionConn follows redirects until the session gets another answer, because until then the
// connection has no state, such as WATCH, to lose. Later redirects are ordinary results.
type sessionConn struct {
	retrier
	send.Dedicated
	ctx      context.Context // of the session
	chosen   chan choice     // the choices of the retrier
	hasState bool            // the session has got an answer other than a redirect
}

// choice is the node for a dedicated connection, or the reason why no node was found. node is the shared
// connection to that node.
type choice struct {
	node   *redisconn.Connection
	asking bool
	err    *errorx.Error
}

// sendTo implements retryable.
func (s *sessionConn) sendTo(conn *redisconn.Connection, asking bool) {
	s.chosen <- choice{node: conn, asking: asking}
}

// fail implements retryable.
func (s *sessionConn) fail(err *errorx.Error) { s.chosen <- choice{err: err} }

// nature implements retryable. Opening a connection may be repeated, because it sends no user's request.
func (s *sessionConn) nature() send.Nature { return send.Nature{Twice: true} }

// Cancelled implements retryable.
func (s *sessionConn) Cancelled() error { return s.ctx.Err() }

// Context returns the session's context, for send.ContextOf.
func (s *sessionConn) Context() context.Context { return s.ctx }

// open opens a connection to the chosen node or, after each failure, to the node that
// the retrier chooses next.
func (s *sessionConn) open(to choice) error {
	defer s.leave()
	for to.err == nil {
		conn, err := backend.Of(to.node).OpenDedicatedAsk(s.ctx, to.asking)
		if err == nil {
			s.Dedicated, s.failed, s.tries.Retries = conn, time.Time{}, 0
			return nil
		}
		s.handleError(redis.AsErrorx(err))
		to = <-s.chosen
	}
	s.Dedicated = noConn{to.err}
	return to.err
}

// noConn replaces a connection that could not be opened.
type noConn struct{ why error }

// Exchange implements send.Dedicated.
func (n noConn) Exchange(context.Context, []send.Request, func(int, any)) error {
	return redis.ErrSessionLost.Wrap(n.why, "the session has no connection: open another one")
}

// Server implements send.Dedicated.
func (noConn) Server() send.Server { return send.Server{} }

// Release implements send.Dedicated.
func (noConn) Release() {}

// Exchange implements send.Dedicated.
func (s *sessionConn) Exchange(ctx context.Context, reqs []send.Request, each func(int, any)) error {
	told := func(i int, res any) {
		s.heard(res)
		each(i, res)
	}
	for !s.hasState && len(reqs) > 0 {
		var results []any
		err := s.Dedicated.Exchange(ctx, reqs, func(_ int, res any) { results = append(results, res) })
		moved := redirectOf(reqs, results)
		if moved != nil && err == nil {
			s.handleError(moved)
			if to := <-s.chosen; to.err == nil {
				s.Dedicated.Release() // first, because sessions that hold a connection while they wait for another may block each other forever
				if err := s.open(to); err != nil {
					return err
				}
				continue
			}
			s.leave() // no node was found, so the redirect is the result
		}
		s.hasState = moved == nil
		for i, res := range results {
			told(i, res)
		}
		return err
	}
	return s.Dedicated.Exchange(ctx, reqs, told)
}

// heard makes the cluster read the topology again if a result shows that the topology has changed.
func (s *sessionConn) heard(res any) {
	if err, failed := res.(*errorx.Error); failed {
		s.learn(err, redirect(err, tries{}, send.Nature{}, s.c.limits))
	}
}

// redirectOf returns the first redirect among the results, if no request has run or
// changed the state of the connection. A transaction has not run if its EXEC failed.
func redirectOf(reqs []send.Request, results []any) (moved *errorx.Error) {
	last := len(reqs) - 1
	transaction := reqs[0].Is("MULTI") && reqs[last].Is("EXEC") &&
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
