package redisconn

import (
	"context"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/wire"
	"github.com/joomcode/redispipe/redis"
)

// Reauthenticate gets new credentials from Opts.CredentialsProvider, and sends them
// with AUTH on the open socket. Requests go on in the meantime, as the old user until
// the server confirms the new one. AUTH is never sent within a transaction.
//
// It returns nil when the server has confirmed, or when the socket is gone: the next
// one gets its credentials from the provider. After that nothing needs the old
// credentials but the sessions and blocking commands that are under way. Idle dedicated
// connections are closed, the others when they are given back, or greeted again with the
// new credentials. If the provider fails ([ErrCredentials]) or the server refuses
// ([ErrAuth]), it returns the error and reports a [LogAuthFailed]; the connection goes
// on as the user that it has. If ctx ends first, it returns
// [redis.ErrRequestCancelled], and AUTH may still be sent. Calling it again is always
// safe.
//
// With ScriptMode a transaction may be open, so the error is
// [redis.ErrCommandForbidden]: send AUTH yourself.
func (c *Connection) Reauthenticate(ctx context.Context) error {
	if ctx == nil {
		return redis.ErrContextIsNil.New("context is nil")
	}
	if c.opts.ScriptMode {
		return c.withConn(redis.ErrCommandForbidden.New("a connection with ScriptMode may have a transaction open: send AUTH"))
	}
	// One at a time, so that the last to ask is the last to send.
	select {
	case c.reauth <- struct{}{}:
		defer func() { <-c.reauth }()
	case <-ctx.Done():
		return c.unconfirmed(ctx)
	}
	cr, err := c.credentials(ctx)
	if err != nil {
		err = c.withConn(err)
		c.report(LogAuthFailed{Error: err})
		return err
	}
	answer, err := c.sendAuth(ctx, cr)
	if err != nil {
		return err
	}
	select {
	case err := <-answer:
		if err == nil {
			c.pool.outdate()
		}
		return err
	case <-ctx.Done():
		return c.unconfirmed(ctx)
	}
}

// sendAuth queues AUTH as a request of the library's own. What becomes of it is sent
// to answer.
func (c *Connection) sendAuth(ctx context.Context, cr Credentials) (answer chan error, refused *errorx.Error) {
	answer = make(chan error, 1)
	args := cr.auth()
	if args == nil {
		answer <- nil
		return answer, nil
	}
	r, _, err := redis.EncodeRequest(nil, redis.Req("AUTH", args...), false)
	if err != nil {
		return nil, c.withConn(redis.AsErrorx(err))
	}
	judge := wire.Own(func(res any, _ uint64) { answer <- c.judgeAuth(cr, res) })
	for {
		one := [1]*wire.Request{&r}
		_, refused := c.enqueue(one[:], judge, 0, 0)
		switch {
		case refused == nil:
			return answer, nil
		case !refused.IsOfType(redis.ErrQueueFull):
			judge.Resolve(refused, 0)
			return answer, nil
		}
		if (capacity{&c.queue, 1}).AwaitCapacity(ctx) != nil {
			return nil, c.unconfirmed(ctx)
		}
	}
}

// judgeAuth returns what Reauthenticate is to return, and reports a refusal.
func (c *Connection) judgeAuth(cr Credentials, res any) error {
	if err := redis.AsErrorx(res); err != nil && !err.IsOfType(redis.ErrResult) {
		if err.IsOfType(redis.ErrContextClosed) || c.ctx.Err() != nil {
			return c.withConn(errClosed())
		}
		return nil // the socket is gone
	}
	err := checkAuth(c, cr.redact(res))
	if err == nil {
		return nil
	}
	err = c.withConn(err)
	c.report(LogAuthFailed{Error: err})
	return err
}

func (c *Connection) unconfirmed(ctx context.Context) *errorx.Error {
	return c.withConn(redis.ErrRequestCancelled.Wrap(context.Cause(ctx), "new credentials are not confirmed"))
}
