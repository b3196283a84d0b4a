package redisconn

import (
	"context"
	"strings"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/wire"
	"github.com/joomcode/redispipe/redis"
)

// dedicated is a connection that one borrower has at a time. It shares nothing with
// the shared one but the options: neither queue nor batches nor reader.
type dedicated struct {
	*socket
	c    *Connection
	raw  *rawWriter // nil where one can't look whether the socket is quiet
	id   int64      // CLIENT ID, or 0 if the user may not ask
	used time.Time
}

// ready makes of what the pool has granted a connection that can be used. It ends with
// ctx, or c.
func (c *Connection) ready(ctx context.Context, d *dedicated) (*dedicated, *errorx.Error) {
	if d != nil && d.raw == nil {
		if _, _, err := d.confirm(); err != nil {
			c.pool.drop(d)
			d = nil
		}
	}
	if d != nil {
		return d, nil
	}
	d, err := c.openDedicated(ctx)
	if err != nil && ctx.Err() != nil {
		err = redis.ErrRequestWithdrawn.Wrap(ctx.Err(), "withdrawn before it was sent")
	}
	return d, err
}

// openDedicated makes a dedicated connection. It ends with ctx, or the connection.
func (c *Connection) openDedicated(ctx context.Context) (*dedicated, *errorx.Error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.ctx, cancel)()
	d := &dedicated{c: c}
	var err *errorx.Error
	if d.socket, err = c.open(ctx, d.askID()); err != nil {
		return nil, err
	}
	d.raw = newRawWriter(d.Conn)
	if !c.pool.made(d) {
		_ = d.Close()
		return nil, errClosed()
	}
	return d, nil
}

// askID is the step of the handshake that asks for the connection's id, by which
// CLIENT UNBLOCK knows it. A user need not be allowed to.
func (d *dedicated) askID() step {
	return step{redis.Req("CLIENT", "ID"), func(_ *Connection, res any) *errorx.Error {
		d.id, _ = res.(int64)
		return nil
	}}
}

// quiet reports whether an idle connection is still one, and nothing has come that
// nobody asked for.
func (d *dedicated) quiet() bool {
	return d.dec.Buffered() == 0 && (d.raw == nil || d.raw.connCheck() == nil)
}

// prepare sets the time that the next exchange has: to write, and to read each part
// of what is answered, for which the server may block beforehand.
func (d *dedicated) prepare(blocks time.Duration) {
	d.timeout, d.blocks = d.c.opts.IOTimeout, blocks
	_ = d.SetDeadline(time.Time{})
}

// send writes requests. sent is false if no byte of them was: over TLS nobody knows.
func (d *dedicated) send(out []byte) (sent bool, err *errorx.Error) {
	n, failure := d.Write(out)
	if failure == nil {
		return true, nil
	}
	if _, secured := d.Conn.(socketCloser); n == 0 && !secured {
		return false, ErrNotConnected.Wrap(failure, "writing")
	}
	return true, redis.ErrIO.Wrap(failure, "writing")
}

// renew makes the connection as new: RESET, and all of the handshake.
func (d *dedicated) renew() bool {
	d.prepare(0)
	reset := step{redis.Req("RESET"), func(_ *Connection, res any) *errorx.Error {
		return expect("RESET", res, "RESET")
	}}
	ctx, cancel := context.WithTimeout(d.c.ctx, d.c.opts.DialTimeout)
	defer cancel()
	cr, err := d.c.credentials(ctx)
	if err != nil {
		return false
	}
	steps := append([]step{reset}, d.c.steps(cr)...)
	return d.c.handshake(d.socket, cr, append(steps, d.askID())) == nil
}

const (
	// unblockLeast is for how long an unblocked command may go unanswered before its
	// connection is closed: a caller whose context ends has its result after 50 ms.
	unblockLeast = 35 * time.Millisecond
	// unblockTrips is the same in round trips, of which it takes three, where those
	// are long.
	unblockTrips = 5
	// unblockAgain is the first pause after which a command that was not blocked yet
	// is unblocked again. It doubles.
	unblockAgain = time.Millisecond
)

// unblock has the server end what the connection blocks on, and waits until answered is
// closed. If that can't be had it closes the connection, and returns false. A request
// of CLIENT UNBLOCK that comes too late has the next command of the connection sent
// again at worst.
func (d *dedicated) unblock(answered <-chan struct{}) (alive bool) {
	if d.id == 0 {
		_ = d.Close()
		return false
	}
	patience := time.NewTimer(max(unblockLeast, times(d.c.PingLatency(), unblockTrips)))
	defer patience.Stop()
	ask := time.NewTimer(0)
	defer ask.Stop()
	var reply <-chan any
	for pause := unblockAgain; ; {
		var n any
		select {
		case <-answered:
			return true
		case <-ask.C:
			reply = d.askUnblock()
			continue
		case n = <-reply:
		case <-patience.C:
		}
		switch n {
		case int64(0): // the server has not got the command yet, or has answered it
			ask.Reset(pause)
			pause *= 2
		case int64(1): // the answer comes
		default:
			_ = d.Close()
			return false
		}
	}
}

// askUnblock asks through the shared connection.
func (d *dedicated) askUnblock() <-chan any {
	reply := make(chan any, 1)
	d.c.Send(redis.Req("CLIENT", "UNBLOCK", d.id, "ERROR"), wire.Own(func(res any, _ uint64) { reply <- res }), 0)
	return reply
}

// confirm makes sure that a command which was answered with UNBLOCKED is over. A server
// that has paused its clients (CLIENT PAUSE, a failover) answers so, and runs the
// command afterwards. later is what it answers then, if ran.
func (d *dedicated) confirm() (later any, ran bool, err error) {
	d.prepare(0)
	const nonce = "over?"
	out, _ := redis.AppendRequest(nil, redis.Req("PING", nonce))
	if _, err := d.send(out); err != nil {
		return nil, false, err
	}
	for {
		res, err := d.dec.Decode()
		if err != nil {
			return later, ran, err
		}
		echo, isBytes := res.([]byte)
		refused := redis.AsErrorx(res)
		if isBytes && string(echo) == nonce || refused != nil && strings.HasPrefix(refused.Message(), "NOPERM") {
			return later, ran, nil
		}
		later, ran = res, true
	}
}

// isUnblocked reports whether a blocking command was ended before it did anything.
func isUnblocked(res any) bool {
	err := redis.AsErrorx(res)
	return err != nil && strings.HasPrefix(err.Message(), "UNBLOCKED")
}

// place is where answers come from.
func (d *dedicated) place() wire.Place {
	return wire.Place{Address: d.c.addr.text, Peer: addrText(d.RemoteAddr())}
}
