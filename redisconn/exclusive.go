package redisconn

import (
	"context"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/internal/wire"
	"github.com/joomcode/redispipe/redis"
)

// exclusive is a redis.Session's hold on a dedicated connection. One goroutine at a
// time uses it.
type exclusive struct {
	c      *Connection
	d      *dedicated
	opened string // the stack, with Opts.TraceSessions
	// lost is with what the connection was lost.
	lost *errorx.Error
	// altered: something was sent of which RESET may not undo the effect.
	altered bool
}

// OpenDedicated is for package redis. A connection has no slots, so it ignores keys and
// last.
func (c *Connection) OpenDedicated(ctx context.Context, _ []string, _ error) (wire.Dedicated, error) {
	if c.opts.DedicatedConns < 0 {
		return nil, c.withConn(redis.ErrSession.New("Opts.DedicatedConns is negative: there are no sessions"))
	}
	h := make(handover, 1)
	leave, refused := c.pool.enter(h)
	if refused != nil {
		return nil, c.withConn(refused)
	}
	var got granted
	select {
	case got = <-h:
	case <-ctx.Done():
		if leave() {
			return nil, c.withConn(redis.ErrRequestWithdrawn.Wrap(ctx.Err(), "waiting for a dedicated connection"))
		}
		got = <-h
	}
	if got.refused != nil {
		return nil, c.withConn(got.refused)
	}
	d, err := c.ready(ctx, got.d)
	if err != nil {
		c.pool.giveBack(nil, false)
		return nil, c.withConn(err)
	}
	e := &exclusive{c: c, d: d}
	if c.opts.TraceSessions {
		e.opened = string(debug.Stack())
	}
	runtime.SetFinalizer(e, (*exclusive).leaked)
	return e, nil
}

// handover is the borrower that waits for a connection by itself.
type handover chan granted

type granted struct {
	d       *dedicated
	refused *errorx.Error
}

func (h handover) grant(d *dedicated)       { h <- granted{d: d} }
func (h handover) refuse(err *errorx.Error) { h <- granted{refused: err} }

// Exchange implements wire.Dedicated.
func (e *exclusive) Exchange(ctx context.Context, reqs []wire.Request, each func(int, any)) error {
	if e.lost != nil {
		return e.c.withConn(redis.ErrSessionLost.Wrap(e.lost, "the session's connection was lost: open another one"))
	}
	for i := range reqs {
		e.altered = e.altered || alters(&reqs[i])
	}
	if len(reqs) == 1 && reqs[0].Shared == command.WouldBlock {
		return e.block(ctx, &reqs[0], each)
	}
	var out []byte
	for i := range reqs {
		out = append(out, reqs[i].Buf...)
	}
	e.d.prepare(0)
	defer context.AfterFunc(ctx, func() { _ = e.d.Close() })()
	sent, err := e.d.send(out)
	for i := 0; err == nil && i < len(reqs); i++ {
		var res any
		var failure error
		if res, failure = e.d.dec.Decode(); failure != nil {
			err = redis.AsErrorx(failure)
			break
		}
		each(i, e.withConn(res))
	}
	if err == nil && ctx.Err() != nil { // it may have been closed after the last reply
		e.lost = redis.ErrRequestCancelled.Wrap(ctx.Err(), "the session's context ended")
		_ = e.d.Close()
		return nil
	}
	if err == nil {
		return nil
	}
	return e.lose(lostError(ctx, err, sent))
}

func (e *exclusive) block(ctx context.Context, r *wire.Request, each func(int, any)) error {
	b, err := e.c.newBlocking(ctx, r, false)
	if err != nil {
		each(0, e.withConn(err))
		return nil
	}
	b.req.Typed = false
	res, alive := b.perform(e.d)
	each(0, e.withConn(res)) // even if the connection was lost behind an element
	if !alive {
		cause := redis.AsErrorx(res)
		if cause == nil || cause.IsOfType(redis.ErrResult) {
			cause = redis.ErrIO.New("the connection was lost behind a reply")
		}
		_ = e.lose(cause)
	}
	return nil
}

// lose ends the connection.
func (e *exclusive) lose(err *errorx.Error) error {
	e.lost = err
	_ = e.d.Close()
	return e.c.withConn(err)
}

// withConn adds the connection to an error that the server answered with.
func (e *exclusive) withConn(res any) any {
	if err, failed := res.(*errorx.Error); failed {
		return e.c.withConn(err)
	}
	return res
}

// alters reports whether RESET may not undo what a request does to its connection:
// what a server knows that this library does not, and what concerns the client, of
// which versions of servers reset different parts.
func alters(r *wire.Request) bool {
	call := command.Of(r.Cmd, r.Args())
	return call.Info == nil || strings.HasPrefix(call.Name, "CLIENT")
}

// Release implements wire.Dedicated. The goroutine makes the connection as new, gives
// it back, and ends.
func (e *exclusive) Release() {
	runtime.SetFinalizer(e, nil)
	if e.lost != nil || e.altered {
		e.c.pool.giveBack(e.d, false)
		return
	}
	d, pool := e.d, e.c.pool
	go func() { pool.giveBack(d, d.renew()) }()
}

// leaked is called when nobody refers to e any more, though it was not released.
func (e *exclusive) leaked() {
	c, d, opened := e.c, e.d, e.opened
	go func() {
		c.report(LogSessionLeaked{Opened: opened})
		c.pool.giveBack(d, false)
	}()
}
