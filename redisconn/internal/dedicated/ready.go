package dedicated

import (
	"context"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/dial"
	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/internal/sock"
)

// ready returns a usable connection for a granted place: c after a check, or a new one. It gives up
// when ctx is done. If it returns an error, it has given the place back.
func (p *Pool) ready(ctx context.Context, c *Conn) (*Conn, *errorx.Error) {
	for c != nil {
		why := c.check(ctx, p.dialer.Timeout)
		if why == nil {
			return c, nil
		}
		p.drop(c)
		if ctx.Err() == nil {
			p.noteLost(c, why)
		}
		if c.raw == nil { // after a failed check by PING, which is slow, the next connection might time out as well
			break
		}
		c = p.nextIdle()
	}
	if ctx.Err() != nil {
		p.release(nil, false)
		return nil, errs.Withdrawn(ctx)
	}
	type made struct {
		c   *Conn
		err *errorx.Error
	}
	result := make(chan made)
	// Dialing continues after its caller has left, until the dialer's time-out or until the pool is
	// drained. If each caller dialed again, callers with short deadlines would overload a slow
	// server.
	go func() {
		c, err := p.open()
		select {
		case result <- made{c, err}:
		case <-ctx.Done():
			p.release(c, err == nil)
		}
	}()
	select {
	case m := <-result:
		if m.err != nil {
			p.release(nil, false)
		}
		return m.c, m.err
	case <-ctx.Done():
		return nil, errs.Within(errs.Withdrawn(ctx), "while a dedicated connection was opened")
	}
}

// open makes a connection. It gives up when the pool is drained.
func (p *Pool) open() (*Conn, *errorx.Error) {
	c := &Conn{timeout: p.config.IOTimeout, generation: p.current()}
	var err *errorx.Error
	if c.Socket, err = p.dialer.Open(p.ctx, c.self.ask()...); err != nil {
		if p.ctx.Err() != nil {
			return nil, sock.Refused(p.ctx)
		}
		err = p.owner.WithConn(err)
		p.noteFailed(err)
		return nil, err
	}
	if c.Peer.Lean {
		c.self.err = errNotUnblocked.New("the client ID is unknown, because the library does not ask a proxy for it")
	}
	c.raw = sock.NewRaw(c.Socket.Conn)
	open := p.made(c)
	if open == 0 {
		_ = c.Close()
		return nil, sock.Refused(p.ctx)
	}
	p.noteMade(c, open)
	return c, nil
}

// renew makes a connection like new, with its own credentials or with newer ones from Outdate. If
// the credentials have expired, renew closes the connection, and the next connection asks the
// provider. It gives up when the pool is drained.
func (p *Pool) renew(c *Conn) bool {
	return p.dialer.Renew(p.ctx, c.Socket, func() dial.Credentials { return p.update(c) })
}

// place returns the addresses of the server that answers on a connection.
func (p *Pool) place(c *Conn) send.Server {
	return send.Server{Address: p.dialer.Address.Text, Peer: sock.Text(c.RemoteAddr())}
}
