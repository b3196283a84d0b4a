package redisconn

import (
	"context"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/backend"
	"github.com/joomcode/redispipe/internal/dial"
	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/lifetime"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn/internal/engine"
)

// Reauthenticate gets new credentials from Opts.CredentialsProvider, and sends them with AUTH on
// the open socket. Requests continue in the meantime, as the old user until the server confirms the
// new one. AUTH is never sent within a transaction.
//
// Reauthenticate returns nil when the server has confirmed the new credentials and all handshakes
// that may have used the old ones have ended. After that only running sessions and blocking
// commands depend on the old credentials. Reauthenticate closes idle dedicated connections. Those
// in use are closed when they are released, or get a new handshake with the new credentials. With
// Protocol 3, AUTH is also sent on the sockets of subscribers; with Protocol 2 a server does not
// accept it there.
//
// If there is no socket, or it is lost before the server has confirmed, Reauthenticate returns
// [ErrNotConnected] or [redis.ErrIO]. The connection asks the provider again for the next socket,
// so the old credentials are not needed any more. But the server may still refuse the new ones.
//
// If the provider fails or returns no credentials ([ErrCredentials]), or the server refuses them
// ([ErrAuth]), Reauthenticate returns the error and reports a [LogAuthFailed]; the connection keeps
// its user. If ctx ends first, it returns [redis.ErrRequestCancelled], and AUTH may still be sent.
// A retry is always safe.
//
// Neither a CredentialsProvider nor a [Logger] may call Reauthenticate, because it would wait for
// its own caller. If the provider calls it, in the provider's goroutine or with the provider's
// context, Reauthenticate returns [ErrCredentials].
//
// With ScriptMode a transaction may be open, so Reauthenticate returns
// [redis.ErrCommandForbidden]: send AUTH yourself.
func (c *Connection) Reauthenticate(ctx context.Context) error {
	if ctx == nil {
		return redis.Err(errs.NilContext())
	}
	if !c.opened() {
		return redis.Err(errs.NoSender())
	}
	if c.opts.ScriptMode {
		return redis.Err(c.withConn(redis.ErrCommandForbidden.New("a connection with ScriptMode may have a transaction open: send AUTH")))
	}
	if c.dialer.Asks(ctx) {
		return redis.Err(c.withConn(ErrCredentials.New("Opts.CredentialsProvider called Reauthenticate, which waits for the provider: return the new credentials instead")))
	}
	// Only one call runs at a time, so that AUTH is sent in the order in which the provider was
	// asked.
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
	return redis.Err(err)
}

// newCredentials asks the provider for new credentials.
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
		err = ErrCredentials.New("CredentialsProvider returned no credentials")
	}
	err = c.withConn(err)
	c.report(LogAuthFailed{Error: err})
	return cr, err
}

// spread makes all sockets except the shared one use the new credentials, and waits for
// handshakes that may still use older ones.
func (c *Connection) spread(ctx context.Context, cr Credentials) error {
	c.pool.Outdate(cr)
	err := c.dialer.Settle(ctx)
	c.pushes.Authenticate(cr)
	c.trackers.authenticate(ctx, cr)
	return err
}

// isLost reports whether a request was not answered because its socket was lost or
// did not exist.
func isLost(err *errorx.Error) bool {
	return err.IsOfType(ErrNotConnected) || err.IsOfType(redis.ErrIO)
}

// sendAuth queues AUTH as one of the library's own requests. answer receives its outcome.
func (c *Connection) sendAuth(ctx context.Context, cr Credentials) (answer chan *errorx.Error, refused *errorx.Error) {
	answer = make(chan *errorx.Error, 1)
	req, _ := dial.Auth(cr)
	r, _, err := backend.Encode(nil, req, false)
	if err != nil {
		return nil, c.withConn(redis.AsErrorx(err))
	}
	judge := send.Internal(func(res any, _ uint64) { answer <- c.judgeAuth(cr, res) })
	for {
		one := [1]*send.Request{&r}
		refused := c.pipe.Enter(one[:], &engine.Entry{Future: judge})
		switch {
		case refused == nil:
			return answer, nil
		case !refused.IsOfType(redis.ErrQueueFull):
			judge.Resolve(refused, 0)
			return answer, nil
		}
		if c.pipe.RoomFor(&r).AwaitCapacity(ctx) != nil {
			return nil, c.unconfirmed(ctx)
		}
	}
}

// judgeAuth returns the error for the reply res to AUTH, or nil. If the server has refused cr, it
// reports that.
func (c *Connection) judgeAuth(cr Credentials, res any) *errorx.Error {
	res = dial.Redact(cr, res)
	if err := redis.AsErrorx(res); err != nil && !err.IsOfType(redis.ErrResult) {
		switch {
		case err.IsOfType(redis.ErrContextClosed) || c.ctx.Err() != nil:
			return c.errClosed()
		case isLost(err):
		case err.HasTrait(redis.ErrTraitNotSent): // AUTH was still waiting for an attempt to connect
			err = ErrNotConnected.Wrap(err, "not connected")
		default: // the reply does not parse
			err = redis.ErrIO.Wrap(err, "connection lost")
		}
		return c.withConn(err)
	}
	err := dial.JudgeAuth(res)
	if err == nil {
		return nil
	}
	err = c.withConn(err)
	c.report(LogAuthFailed{Error: err})
	return err
}

func (c *Connection) unconfirmed(ctx context.Context) *errorx.Error {
	return c.withConn(redis.ErrRequestCancelled.Wrap(lifetime.Reason(ctx), "new credentials are not confirmed"))
}
