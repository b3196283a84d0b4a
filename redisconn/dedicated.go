package redisconn

import (
	"context"
	"strings"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/nonce"
	"github.com/joomcode/redispipe/internal/sock"
	"github.com/joomcode/redispipe/internal/wire"
	"github.com/joomcode/redispipe/redis"
)

// dedicated is a connection that one borrower has at a time. It shares nothing with
// the shared one but the options: neither queue nor batches nor reader.
type dedicated struct {
	*socket
	c    *Connection
	raw  *sock.Raw // nil where one can't look whether the socket is quiet
	self identity
	used time.Time
	// generation is the pool's when its credentials were asked for, or updated.
	generation uint64
}

// ready makes of what the pool has granted a connection that can be used, until ctx is
// done. With an error the place goes back to the pool.
func (c *Connection) ready(ctx context.Context, d *dedicated) (*dedicated, *errorx.Error) {
	for d != nil {
		why := d.check(ctx)
		if why == nil {
			return d, nil
		}
		c.pool.drop(d)
		if ctx.Err() == nil {
			c.dedicatedLost(d, why)
		}
		if d.raw == nil { // to ask the next one might take as long as a time-out again
			break
		}
		d = c.pool.nextIdle()
	}
	withdrawn := func() *errorx.Error {
		return redis.ErrRequestWithdrawn.Wrap(ctx.Err(), "withdrawn before it was sent")
	}
	if ctx.Err() != nil {
		c.pool.giveBack(nil, false)
		return nil, withdrawn()
	}
	made := make(chan madeDedicated)
	// It goes on without its caller, until DialTimeout at the longest, or until the pool
	// is drained: if each caller dialed anew, those that go soon would overrun a server
	// that answers slowly.
	go func() {
		var m madeDedicated
		m.d, m.err = c.openDedicated()
		select {
		case made <- m:
		case <-ctx.Done():
			c.pool.giveBack(m.d, m.err == nil)
		}
	}()
	select {
	case m := <-made:
		if m.err != nil {
			c.pool.giveBack(nil, false)
		}
		return m.d, m.err
	case <-ctx.Done():
		return nil, withdrawn()
	}
}

// madeDedicated is a connection, or why there is none.
type madeDedicated struct {
	d   *dedicated
	err *errorx.Error
}

// openDedicated makes a dedicated connection. It ends when the pool is drained.
func (c *Connection) openDedicated() (*dedicated, *errorx.Error) {
	d := &dedicated{c: c, generation: c.pool.current()}
	var err *errorx.Error
	if d.socket, err = c.open(c.pool.ctx, d.askIdentity()...); err != nil {
		if c.pool.ctx.Err() != nil {
			return nil, errClosed()
		}
		err = c.withConn(err)
		c.dedicatedFailed(err)
		return nil, err
	}
	d.raw = sock.NewRaw(d.Conn)
	open := c.pool.made(d)
	if open == 0 {
		_ = d.Close()
		return nil, errClosed()
	}
	c.dedicatedMade(d, open)
	return d, nil
}

// check returns nil if an idle connection is still one, and nothing has come that nobody
// asked for. Where one can't look, the server is asked: until ctx is done, for
// DialTimeout at the longest.
func (d *dedicated) check(ctx context.Context) error {
	if why := d.quiet(); why != nil || d.raw != nil {
		return why
	}
	ctx, cancel := context.WithTimeout(ctx, d.c.opts.DialTimeout)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = d.Close() })
	sent, failure := d.ping()
	if failure != nil {
		return failure
	}
	res, err := d.Dec.Decode()
	switch {
	case err != nil:
		return err
	case !sent.Echoed(res) && !nonce.Refused(res):
		return sock.ErrUnsolicited
	case !stop():
		return ctx.Err()
	}
	return nil
}

// quiet is check without asking the server.
func (d *dedicated) quiet() error {
	switch {
	case d.Dec.Buffered() > 0:
		return sock.ErrUnsolicited
	case d.raw != nil:
		return d.raw.Check()
	}
	return nil
}

// ping sends a PING, whose echo is known by the nonce.
func (d *dedicated) ping() (nonce.Nonce, *errorx.Error) {
	d.prepare(0)
	n := nonce.New()
	out, _ := redis.AppendRequest(nil, redis.Req("PING", n[:]))
	_, err := d.send(out)
	return n, err
}

// asking is what goes before requests that follow ASK.
var asking = []byte("*1\r\n$6\r\nASKING\r\n")

// prepare sets the time that the next exchange has: to write, and to read each part
// of what is answered, for which the server may block beforehand.
func (d *dedicated) prepare(blocks time.Duration) {
	d.Allow(d.c.opts.IOTimeout, blocks)
	_ = d.SetDeadline(time.Time{})
}

// send writes requests. sent is false if no byte of them was: over TLS nobody knows.
func (d *dedicated) send(out []byte) (sent bool, err *errorx.Error) {
	n, failure := d.Write(out)
	if failure == nil {
		return true, nil
	}
	if n == 0 && !d.Secured() {
		return false, ErrNotConnected.Wrap(failure, "writing")
	}
	return true, redis.ErrIO.Wrap(failure, "writing")
}

// askLasts is for how long ASK is followed. It holds when it is said. A node to which the
// slot has gone meanwhile, from which it has gone away, and to which it is coming again,
// would take ASKING for a word that the key is there, and make the key anew, beside the one
// that is to come. If a slot moves to and fro every 60 ms, that takes 200 ms.
const askLasts = 50 * time.Millisecond

// askHolds reports whether ASKING may go before a request because of an ASK of that time.
func askHolds(asked time.Time) bool { return time.Since(asked) < askLasts }

// askedNow returns the time of an ASK that is followed at once, or zero if there is none.
func askedNow(asking bool) (at time.Time) {
	if asking {
		at = time.Now()
	}
	return at
}

// skipAsking reads the reply to ASKING, if that was sent.
func (d *dedicated) skipAsking(sent bool) error {
	if !sent {
		return nil
	}
	_, err := d.Dec.Decode()
	return err
}

// renew makes the connection as new: RESET, and all of the handshake, with the credentials
// that it had, or with newer ones of Reauthenticate. If these have expired, the connection
// is closed, and the next one asks the provider. It ends when the pool is drained.
func (d *dedicated) renew() bool {
	d.Allow(0, 0) // that of the handshake holds
	reset := step{redis.Req("RESET"), func(_ *Connection, res any) *errorx.Error {
		return expect("RESET", res, "RESET")
	}}
	ctx, cancel := context.WithTimeout(d.c.pool.ctx, d.c.opts.DialTimeout)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = d.Close() })
	defer d.c.rotation.begin()()
	d.c.pool.update(d)
	steps := append([]step{reset}, d.c.steps(d.cr)...)
	err := d.c.handshake(d.socket, steps)
	return stop() && err == nil
}

// confirm makes sure that a command which was answered with UNBLOCKED is over. A server
// that has paused its clients (CLIENT PAUSE, a failover) answers so, and runs the
// command afterwards. later is what it answers then, if ran: a command that is unblocked
// once more has not run.
func (d *dedicated) confirm() (later any, ran bool, err error) {
	sent, failure := d.ping()
	if failure != nil {
		return nil, false, failure
	}
	for {
		res, err := d.Dec.Decode()
		switch {
		case err != nil:
			return later, ran, err
		case sent.Echoed(res):
			return later, ran, nil
		case nonce.Refused(res):
			// Nothing ran. It may be the command that is refused so, and the answer to
			// PING is still to come: nobody must get that.
			_ = d.Close()
			return later, ran, nil
		}
		if !isUnblocked(res) {
			later, ran = res, true
		}
	}
}

// isUnblocked reports whether a blocking command was ended before it did anything.
func isUnblocked(res any) bool {
	err := redis.AsErrorx(res)
	return err != nil && strings.HasPrefix(err.Message(), "UNBLOCKED")
}

// place is where answers come from.
func (d *dedicated) place() wire.Place {
	return wire.Place{Address: d.c.addr.text, Peer: sock.Text(d.RemoteAddr())}
}
