package redisconn

import (
	"context"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/dial"
	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/life"
	"github.com/joomcode/redispipe/internal/queue"
	"github.com/joomcode/redispipe/internal/request"
	"github.com/joomcode/redispipe/internal/wire"
	"github.com/joomcode/redispipe/redis"
)

// Reauthenticate gets new credentials from Opts.CredentialsProvider, and sends them
// with AUTH on the open socket. Requests go on in the meantime, as the old user until
// the server confirms the new one. AUTH is never sent within a transaction.
//
// It returns nil when the server has confirmed. After that nothing needs the old
// credentials but the sessions and blocking commands that are under way: it waits for
// handshakes that may have begun with them. Idle dedicated connections are closed, the
// others when they are given back, or greeted again with the new credentials. Sockets of
// subscribers are sent AUTH, too, with Protocol 3; with 2 a server takes none on them.
//
// If the socket is gone before the server has confirmed, or there is none, the error is
// [ErrNotConnected] or [redis.ErrIO]: nothing needs the old credentials either, since the
// next socket asks the provider, but nobody knows whether the server takes the new ones.
//
// If the provider fails or has no credentials ([ErrCredentials]), or the server refuses
// ([ErrAuth]), it returns the error and reports a [LogAuthFailed]; the connection goes
// on as the user that it has. If ctx ends first, it returns
// [redis.ErrRequestCancelled], and AUTH may still be sent. Calling it again is always
// safe.
//
// With ScriptMode a transaction may be open, so the error is
// [redis.ErrCommandForbidden]: send AUTH yourself.
func (c *Connection) Reauthenticate(ctx context.Context) error {
	if ctx == nil {
		return redis.Err(errs.NilContext())
	}
	if c.opts.ScriptMode {
		return redis.Err(c.withConn(redis.ErrCommandForbidden.New("a connection with ScriptMode may have a transaction open: send AUTH")))
	}
	// One at a time, so that the last to ask is the last to send.
	select {
	case c.reauth <- struct{}{}:
		defer func() { <-c.reauth }()
	case <-ctx.Done():
		return redis.Err(c.unconfirmed(ctx))
	}
	cr, err := c.newCredentials(ctx)
	if err != nil {
		return redis.Err(err)
	}
	answer, err := c.sendAuth(ctx, cr)
	if err != nil {
		return redis.Err(err)
	}
	select {
	case err = <-answer:
	case <-ctx.Done():
		return redis.Err(c.unconfirmed(ctx))
	}
	if err == nil || isLost(err) {
		if c.spread(ctx, cr) != nil {
			return redis.Err(c.unconfirmed(ctx))
		}
	}
	if err != nil {
		return redis.Err(err)
	}
	return nil
}

// newCredentials asks for credentials to authenticate again with.
func (c *Connection) newCredentials(ctx context.Context) (Credentials, *errorx.Error) {
	asking, cancel := context.WithTimeout(ctx, c.opts.DialTimeout)
	defer cancel()
	defer context.AfterFunc(c.ctx, cancel)()
	cr, err := c.dialer.Ask(asking)
	switch {
	case c.ctx.Err() != nil:
		return cr, c.errClosed()
	case ctx.Err() != nil:
		return cr, c.unconfirmed(ctx)
	case err == nil:
		if _, needed := dial.Auth(cr); needed {
			return cr, nil
		}
		err = ErrCredentials.New("there are no credentials to authenticate with")
	}
	err = c.withConn(err)
	c.report(LogAuthFailed{Error: err})
	return cr, err
}

// spread has the sockets beside the shared one use the new credentials, and waits for
// those that may still be about to use older ones.
func (c *Connection) spread(ctx context.Context, cr Credentials) error {
	c.pool.Outdate(cr)
	err := c.dialer.Settle(ctx)
	c.pushes.Authenticate(cr)
	c.trackers.authenticate(ctx, cr)
	return err
}

// isLost reports whether a request was not answered because its socket was lost, or
// because there was none.
func isLost(err *errorx.Error) bool {
	return err.IsOfType(ErrNotConnected) || err.IsOfType(redis.ErrIO)
}

// sendAuth queues AUTH as a request of the library's own. What becomes of it is sent
// to answer.
func (c *Connection) sendAuth(ctx context.Context, cr Credentials) (answer chan *errorx.Error, refused *errorx.Error) {
	answer = make(chan *errorx.Error, 1)
	req, _ := dial.Auth(cr)
	r, _, err := request.Encode(nil, req, false)
	if err != nil {
		return nil, c.withConn(redis.AsErrorx(err))
	}
	judge := wire.Own(func(res any, _ uint64) { answer <- c.judgeAuth(cr, res) })
	for {
		one := [1]*wire.Request{&r}
		_, refused := c.pipe.Enter(one[:], &queue.Entry{Future: judge})
		switch {
		case refused == nil:
			return answer, nil
		case !refused.IsOfType(redis.ErrQueueFull):
			judge.Resolve(refused, 0)
			return answer, nil
		}
		if (queue.Room{Queue: c.queue, Requests: 1}).AwaitCapacity(ctx) != nil {
			return nil, c.unconfirmed(ctx)
		}
	}
}

// judgeAuth returns what Reauthenticate is to return, and reports a refusal.
func (c *Connection) judgeAuth(cr Credentials, res any) *errorx.Error {
	if err := redis.AsErrorx(res); err != nil && !err.IsOfType(redis.ErrResult) {
		switch {
		case err.IsOfType(redis.ErrContextClosed) || c.ctx.Err() != nil:
			return c.errClosed()
		case isLost(err):
		case err.HasTrait(redis.ErrTraitNotSent): // it waited for an attempt to connect
			err = ErrNotConnected.Wrap(err, "not connected")
		default: // the reply does not parse
			err = redis.ErrIO.Wrap(err, "connection lost")
		}
		return c.withConn(err)
	}
	err := dial.JudgeAuth(cr, res)
	if err == nil {
		return nil
	}
	err = c.withConn(err)
	c.report(LogAuthFailed{Error: err})
	return err
}

func (c *Connection) unconfirmed(ctx context.Context) *errorx.Error {
	return c.withConn(redis.ErrRequestCancelled.Wrap(life.Reason(ctx), "new credentials are not confirmed"))
}
