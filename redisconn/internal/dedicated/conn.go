package dedicated

import (
	"context"
	"strings"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/dial"
	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/sock"
	"github.com/joomcode/redispipe/internal/timing"
	"github.com/joomcode/redispipe/redis"
)

// Conn is a connection that one caller uses at a time. It has no goroutine.
type Conn struct {
	*dial.Socket
	timeout time.Duration // of reads and writes
	raw     *sock.Raw     // nil if the socket can't be checked without reading
	self    identity
	used    time.Time
	// generation is the pool's generation at the time when the connection's credentials
	// were asked for, or updated.
	generation uint64
}

// check returns nil if an idle connection is still connected and has received nothing unsolicited.
// If the socket can't be checked without reading, it sends a PING and waits for the answer, until
// ctx is done or for at most longest.
func (c *Conn) check(ctx context.Context, longest time.Duration) error {
	if why := c.quiet(ctx); why != nil || c.raw != nil {
		return why
	}
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	nonce, failure := c.ping()
	if failure != nil {
		return failure
	}
	res, err := c.Dec.Decode()
	switch {
	case err != nil:
		return err
	case !c.Peer.Pinged(&nonce, res) && !sock.PingRefused(res):
		return sock.ErrUnsolicited
	case !stop():
		return ctx.Err()
	}
	return nil
}

// quiet is check without a PING. It skips pushes, because they answer no request. If ctx ends while
// a push arrives, it closes the connection.
func (c *Conn) quiet(ctx context.Context) error {
	why := c.nothingCame()
	if why != sock.ErrUnsolicited {
		return why
	}
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	for why == sock.ErrUnsolicited {
		if failure := c.skipPush(); failure != nil {
			why = failure
			break
		}
		why = c.nothingCame()
	}
	if !stop() {
		return ctx.Err()
	}
	return why
}

// skipPush skips a push that has begun to arrive.
func (c *Conn) skipPush() error {
	c.prepare(0)
	if c.Dec.Buffered() == 0 {
		if err := c.Dec.AwaitMore(); err != nil {
			return err
		}
	}
	if !c.Dec.AtPush() {
		return sock.ErrUnsolicited
	}
	return c.Dec.SkipPush()
}

// nothingCame returns ErrUnsolicited if there is something to read. If the socket can't be checked
// for that, it returns nil.
func (c *Conn) nothingCame() error {
	switch {
	case c.Dec.Buffered() > 0:
		return sock.ErrUnsolicited
	case c.raw != nil:
		return c.raw.Check()
	}
	return nil
}

// ping sends a PING with a nonce, by which the caller recognizes the echo.
func (c *Conn) ping() (sock.Nonce, *errorx.Error) {
	c.prepare(0)
	n := sock.NewNonce()
	out, _ := redis.AppendRequest(nil, c.Peer.Ping(&n))
	_, err := c.send(out)
	return n, err
}

// prepare sets the time limits of the next requests: for writing them, and for reading each part of
// the answer. It adds blocks, the time for which the server may block, to the time for reading.
func (c *Conn) prepare(blocks time.Duration) {
	c.Allow(c.timeout, blocks)
	_ = c.SetDeadline(time.Time{})
}

// send writes requests. sent is false if no byte of them was written. With TLS or a user's Dialer
// that is not known, and sent is true.
func (c *Conn) send(out []byte) (sent bool, err *errorx.Error) {
	n, failure := c.Write(out)
	if failure == nil {
		return true, nil
	}
	if n == 0 && c.Interruptible() && !c.Secured() {
		return false, sock.ErrNotConnected.Wrap(failure, "writing")
	}
	return true, redis.ErrIO.Wrap(failure, "writing")
}

// await waits for a reply. If asked is set, it first reads the reply to ASKING.
func (c *Conn) await(t *timing.Stages, asked bool) error {
	if asked {
		if _, err := c.Dec.Decode(); err != nil {
			return err
		}
	}
	c.NextReply()
	return t.AwaitFirstByte(c.Dec)
}

// confirm finds out whether a command that was answered with UNBLOCKED is over. While the clients
// of a server are paused (CLIENT PAUSE, a failover), the server answers UNBLOCKED and still runs
// the command later. If it ran the command, ran is set and later is the result. A command that is
// answered with UNBLOCKED twice has not run.
func (c *Conn) confirm() (later any, ran bool, err error) {
	nonce, failure := c.ping()
	if failure != nil {
		return nil, false, failure
	}
	for {
		c.NextReply()
		res, err := c.Dec.Decode()
		switch {
		case err != nil:
			return later, ran, err
		case c.Peer.Pinged(&nonce, res):
			return later, ran, nil
		case sock.PingRefused(res):
			// Nothing ran. This reply may be the refusal of the command. Then the answer to PING is
			// still to come, and must not answer a later request.
			_ = c.Close()
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

// lostError is the error of a request whose connection was lost. sent is set if any of it
// may have been sent.
func lostError(ctx context.Context, err *errorx.Error, sent bool) *errorx.Error {
	switch {
	case !sent && ctx.Err() != nil:
		return errs.Withdrawn(ctx)
	case !sent:
		return err
	case ctx.Err() != nil:
		return redis.ErrRequestCancelled.Wrap(ctx.Err(), "abandoned, it may have run")
	case err.IsOfType(redis.ErrIO):
		return err
	}
	return redis.ErrIO.Wrap(err, "connection lost")
}

// asking is an encoded ASKING.
var asking, _ = redis.AppendRequest(nil, redis.Req("ASKING"))

// askLasts is for how long after an ASK requests are sent after ASKING. An ASK holds only for a
// moment. Suppose that since then the slot has moved to the node, has moved away again, and is now
// moving to the node once more. Then a late ASKING makes the node create the key, although the key
// still exists on the other node and is yet to be moved. A slot that moves back and forth quickly
// can cause this within a fraction of a second.
const askLasts = 50 * time.Millisecond

// askHolds reports whether requests may still be sent after ASKING, because of an ASK at the time
// asked.
func askHolds(asked time.Time) bool { return time.Since(asked) < askLasts }

// askedNow returns the current time if asking is set, and zero otherwise.
func askedNow(asking bool) (at time.Time) {
	if asking {
		at = time.Now()
	}
	return at
}
