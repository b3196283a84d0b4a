package redisconn

import (
	"context"
	"time"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/push"
)

// PushSocket is a socket to the server of a [Connection] for messages that a server sends
// without a request, such as those of Pub/Sub. Any goroutine may Send; only one may
// Receive. It ends with its first error, with Close, or with the connection. It does not
// dial again, because only its owner can find out which messages were missed in between.
//
// It has a heartbeat: a server that does not answer ends the socket within IOTimeout.
type PushSocket = push.Socket

// OpenPush dials a [PushSocket] with the options of the connection. ctx and DialTimeout limit only
// the dialing. The ACL user needs permission for PING.
func (c *Connection) OpenPush(ctx context.Context) (*PushSocket, error) {
	if ctx == nil {
		return nil, errs.NilContext()
	}
	if !c.opened() {
		return nil, errs.NoSender()
	}
	if c.ctx.Err() != nil {
		return nil, c.errClosed()
	}
	p, err := c.pushes.Open(ctx)
	if err != nil {
		return nil, err
	}
	return p, nil
}

func (c *Connection) newPushes() *push.Sockets {
	return push.New(c.ctx, c.dialer, push.Config{
		Timeout: c.silence(), TimesOut: c.opts.IOTimeout > 0, WithConn: c.withConn,
		Authenticated: func(cr Credentials, reply any) { _ = c.judgeAuth(cr, reply) }, // judgeAuth reports a refusal
	})
}

// silence returns how long a server may be silent: IOTimeout or, if IOTimeout is negative, its
// default.
func (c *Connection) silence() time.Duration {
	if c.opts.IOTimeout <= 0 {
		return defaultIOTimeout
	}
	return c.opts.IOTimeout
}
