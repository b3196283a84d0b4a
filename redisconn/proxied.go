package redisconn

import (
	"bytes"
	"context"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/backend"
	"github.com/joomcode/redispipe/internal/lifetime"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn/internal/dedicated"
)

// apart runs a transaction on a dedicated connection if there is a proxy in front of the server. On
// the shared connection, some proxies would treat the requests after EXEC as a part of the
// transaction, and send them to the transaction's server. apart resolves cb like the shared
// connection, in a goroutine that ends with the transaction.
func (c *Connection) apart(batch []*send.Request, cb Future, asking bool) *errorx.Error {
	if refused := c.withoutSessions(); refused != nil {
		return refused
	}
	bytesHeld := 0
	for _, r := range batch {
		bytesHeld += len(r.Buf)
	}
	open, refused := c.pool.Enter(bytesHeld, asking)
	if refused != nil {
		return refused
	}
	ctx := send.ContextOf(cb)
	reqs := make([]send.Request, 0, len(batch)+2)
	reqs = append(reqs, alone("MULTI"))
	for _, r := range batch {
		own := *r
		own.Buf, own.Ticket = bytes.Clone(r.Buf), send.Ticket{}
		reqs = append(reqs, own)
		r.Ticket = send.Ticket{Heeded: true}
	}
	reqs = append(reqs, alone("EXEC"))
	send.Queued(cb, send.Ticket{Heeded: true})
	go func() {
		results, answered := make([]any, len(reqs)), 0
		err := c.exchangeApart(ctx, open, reqs, cb, func(i int, res any) {
			results[i], answered = res, i+1
		})
		for i := answered; i < len(results); i++ {
			results[i] = redis.AsErrorx(err)
		}
		first := 1 // if MULTI got no reply, only its requests and EXEC are resolved
		if answered > 0 {
			first = 0
		}
		// The connection is released before that, because a future may block or end the goroutine.
		send.Each(first, len(results), func(i int) { c.pipe.Resolve(cb, results[i], uint64(i)) })
	}()
	return nil
}

// exchangeApart sends the requests of a transaction on a dedicated connection. After an error, the
// remaining requests get no answer. Then the connection may still be in the transaction, so it is
// reset before anybody else gets it.
//
// The wait for a connection may take long. It ends with ctx. If cb is cancelled by the time that
// there is a connection, nothing is sent. After the transaction was sent, its answer is awaited
// even if ctx ends, as on the shared connection.
func (c *Connection) exchangeApart(ctx context.Context, open dedicated.Opening, reqs []send.Request, cb Future, each func(int, any)) error {
	s, err := open(ctx)
	if err != nil {
		return err
	}
	var cancelled error
	lifetime.CallUser(func() { cancelled = send.WhyCancelled(cb) }, shared{c}.Panicked)
	if cancelled != nil {
		s.ReleaseUnchanged()
		return c.withConn(redis.ErrRequestWithdrawn.Wrap(cancelled, "cancelled before it was sent"))
	}
	ended := false
	defer func() {
		if ended {
			s.ReleaseUnchanged()
		} else {
			s.Release()
		}
	}()
	return s.Exchange(context.WithoutCancel(ctx), reqs, func(i int, res any) {
		failure := redis.AsErrorx(res)
		ended = i == len(reqs)-1 && (failure == nil || failure.IsOfType(redis.ErrExecAbort))
		each(i, res)
	})
}

// alone returns a request without arguments.
func alone(cmd string) send.Request {
	r, _, _ := backend.Encode(nil, redis.Req(cmd), false)
	return r
}
