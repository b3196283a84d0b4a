package dedicated

import (
	"context"
	"strings"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/dial"
	"github.com/joomcode/redispipe/internal/peer"
	"github.com/joomcode/redispipe/internal/sock"
	"github.com/joomcode/redispipe/internal/timing"
	"github.com/joomcode/redispipe/redis"
)

// Conn is a connection that one user has at a time. It has no goroutine.
type Conn struct {
	*dial.Socket
	timeout time.Duration // of reads and writes
	raw     *sock.Raw     // nil where one can't look whether the socket is quiet
	self    identity
	used    time.Time
	// generation is the pool's when its credentials were asked for, or updated.
	generation uint64
}

// check returns nil if an idle connection is still one, and nothing has come that nobody
// asked for. Where one can't look, the server is asked: until ctx is done, for longest at
// most.
func (c *Conn) check(ctx context.Context, longest time.Duration) error {
	if why := c.quiet(); why != nil || c.raw != nil {
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
	case !nonce.Is(res) && !peer.PingRefused(res):
		return peer.ErrUnsolicited
	case !stop():
		return ctx.Err()
	}
	return nil
}

// quiet is check without asking the server. Pushes, which answer no request, are skipped.
func (c *Conn) quiet() error {
	for {
		if why := c.nothingCame(); why != peer.ErrUnsolicited {
			return why
		}
		c.prepare(0)
		if c.Dec.Buffered() == 0 {
			if err := c.Dec.AwaitMore(); err != nil {
				return err
			}
		}
		if !c.Dec.AtPush() {
			return peer.ErrUnsolicited
		}
		if err := c.Dec.SkipPush(); err != nil {
			return err
		}
	}
}

// nothingCame returns ErrUnsolicited if there is something to be read, as far as one can look.
func (c *Conn) nothingCame() error {
	switch {
	case c.Dec.Buffered() > 0:
		return peer.ErrUnsolicited
	case c.raw != nil:
		return c.raw.Check()
	}
	return nil
}

// ping sends a PING, whose echo is known by the nonce.
func (c *Conn) ping() (peer.Nonce, *errorx.Error) {
	c.prepare(0)
	n := peer.NewNonce()
	out, _ := redis.AppendRequest(nil, redis.Req("PING", n[:]))
	_, err := c.send(out)
	return n, err
}

// prepare sets the time that the requests which are sent next have: to be written, and to
// be answered part by part, before which the server may block.
func (c *Conn) prepare(blocks time.Duration) {
	c.Allow(c.timeout, blocks)
	_ = c.SetDeadline(time.Time{})
}

// send writes requests. sent is false if no byte of them was: over TLS, and on what a user's
// Dialer has made, nobody knows.
func (c *Conn) send(out []byte) (sent bool, err *errorx.Error) {
	n, failure := c.Write(out)
	if failure == nil {
		return true, nil
	}
	if n == 0 && c.Interruptible() && !c.Secured() {
		return false, peer.ErrNotConnected.Wrap(failure, "writing")
	}
	return true, redis.ErrIO.Wrap(failure, "writing")
}

// await waits for a reply, and reads before it that to ASKING, if that was sent.
func (c *Conn) await(t *timing.Stages, asked bool) error {
	if asked {
		if _, err := c.Dec.Decode(); err != nil {
			return err
		}
	}
	return t.AwaitFirstByte(c.Dec)
}

// confirm makes sure that a command which was answered with UNBLOCKED is over. A server
// that has paused its clients (CLIENT PAUSE, a failover) answers so, and runs the
// command afterwards. later is what it answers then, if ran: a command that is unblocked
// once more has not run.
func (c *Conn) confirm() (later any, ran bool, err error) {
	nonce, failure := c.ping()
	if failure != nil {
		return nil, false, failure
	}
	for {
		res, err := c.Dec.Decode()
		switch {
		case err != nil:
			return later, ran, err
		case nonce.Is(res):
			return later, ran, nil
		case peer.PingRefused(res):
			// Nothing ran. It may be the command that is refused so, and the answer to
			// PING is still to come: nobody must get that.
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

// lostError is what a request ends with whose connection was lost. sent is whether any
// of it may have been.
func lostError(ctx context.Context, err *errorx.Error, sent bool) *errorx.Error {
	switch {
	case !sent && ctx.Err() != nil:
		return withdrawn(ctx)
	case !sent:
		return err
	case ctx.Err() != nil:
		return redis.ErrRequestCancelled.Wrap(ctx.Err(), "abandoned, it may have run")
	case err.IsOfType(redis.ErrIO):
		return err
	}
	return redis.ErrIO.Wrap(err, "connection lost")
}

func withdrawn(ctx context.Context) *errorx.Error {
	return redis.ErrRequestWithdrawn.Wrap(ctx.Err(), "withdrawn before it was sent")
}
