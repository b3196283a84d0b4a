package redisconn

import (
	"context"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/internal/timing"
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
	// asked is when ASK led here, or a request after ASKING was last taken: zero if the
	// node has its slots. multi: a transaction is open, for which the ASKING before MULTI
	// holds. watches: WATCH was sent after ASKING.
	asked          time.Time
	multi, watches bool
}

// OpenDedicated is for package redis. A connection has no slots, so it ignores keys, and
// it can't follow the redirect that last may be.
func (c *Connection) OpenDedicated(ctx context.Context, _ []string, last error) (wire.Dedicated, error) {
	if err := redis.AsErrorx(last); err != nil && (err.IsOfType(redis.ErrMoved) || err.IsOfType(redis.ErrAsk)) {
		return nil, err
	}
	return c.OpenDedicatedAsk(ctx, false)
}

// OpenDedicatedAsk is for package rediscluster: OpenDedicated of a connection that sends
// ASKING before its requests, if asking is set, for as long as ASK holds.
func (c *Connection) OpenDedicatedAsk(ctx context.Context, asking bool) (wire.Dedicated, error) {
	asked := askedNow(asking)
	if c.opts.DedicatedConns < 0 {
		return nil, c.withConn(redis.ErrSession.New("Opts.DedicatedConns is negative: there are no sessions"))
	}
	waiting := timing.Open(nil)
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
			return nil, waiting.Explain(c.withConn(redis.ErrRequestWithdrawn.Wrap(ctx.Err(), "waiting for a dedicated connection")))
		}
		got = <-h
	}
	if got.refused != nil {
		return nil, c.withConn(got.refused)
	}
	d, err := c.ready(ctx, got.d)
	if err != nil {
		return nil, waiting.Explain(c.withConn(err))
	}
	e := &exclusive{c: c, d: d, asked: asked}
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
	left := len(reqs)
	err := e.exchange(ctx, reqs, func(i int, res any) {
		e.c.countDedicated(res, 1)
		left--
		if err, failed := res.(*errorx.Error); failed {
			res = e.c.withConn(err)
		}
		each(i, res)
	})
	if left > 0 {
		e.c.countDedicated(err, left)
	}
	return err
}

func (e *exclusive) exchange(ctx context.Context, reqs []wire.Request, each func(int, any)) error {
	if e.lost != nil {
		return e.c.withConn(redis.ErrSessionLost.Wrap(e.lost, "the session's connection was lost: open another one"))
	}
	if len(reqs) == 0 {
		return nil
	}
	if e.c.queue.Withheld() {
		return e.lose(errClosed())
	}
	if why := e.d.quiet(); why != nil {
		return e.broken(ErrNotConnected.Wrap(why, "connection lost"))
	}
	for i := range reqs {
		e.altered = e.altered || alters(&reqs[i])
	}
	if len(reqs) == 1 && reqs[0].Shared == command.WouldBlock {
		return e.block(ctx, &reqs[0], each)
	}
	t := timing.Open(nil)
	out, asked := e.encode(reqs)
	began := time.Now()
	e.d.prepare(0)
	stop := context.AfterFunc(ctx, func() { _ = e.d.Close() })
	t.NoteWrite()
	sent, err := e.d.send(out)
	for i := 0; err == nil && i < len(reqs); i++ {
		res, failure := e.read(t, asked[i])
		if failure != nil {
			err = redis.AsErrorx(failure)
			break
		}
		if refusal := redis.AsErrorx(res); asked[i] && (refusal == nil || !refusal.IsOfType(redis.ErrMoved)) {
			e.asked = began
		}
		each(i, res)
	}
	interrupted := !stop() // it is being closed, though all may be answered
	switch {
	case err != nil:
		return e.broken(t.Explain(lostError(ctx, err, sent)))
	case interrupted:
		_ = e.lose(redis.ErrRequestCancelled.Wrap(ctx.Err(), "the session's context ended"))
	}
	return nil
}

// encode returns what is written for requests, and before which of them is ASKING.
func (e *exclusive) encode(reqs []wire.Request) (out []byte, asked []bool) {
	asked = make([]bool, len(reqs))
	for i := range reqs {
		if asked[i] = e.asksBefore(&reqs[i]); asked[i] {
			out = append(out, asking...)
		}
		out = append(out, reqs[i].Buf...)
	}
	return out, asked
}

// asksBefore reports whether ASKING goes before a request. Since WATCH was taken, EXEC runs
// only what is as it was then: what reads, and a transaction, have the time that they need.
func (e *exclusive) asksBefore(r *wire.Request) bool {
	cmd := strings.ToUpper(r.Cmd)
	asks := !e.multi && (askHolds(e.asked) || e.watches && (r.ReadOnly || cmd == "MULTI"))
	switch cmd {
	case "WATCH":
		e.watches = e.watches || asks
	case "UNWATCH":
		e.watches = false
	case "MULTI":
		e.multi = true
	case "EXEC", "DISCARD":
		e.multi, e.watches = false, false
	}
	return asks
}

// read reads a reply, and before it that to ASKING, if that was sent.
func (e *exclusive) read(t *timing.Stages, asked bool) (any, error) {
	if err := e.d.skipAsking(asked); err != nil {
		return nil, err
	}
	if err := t.AwaitFirstByte(e.d.Dec); err != nil {
		return nil, err
	}
	return e.d.Dec.Decode()
}

func (e *exclusive) block(ctx context.Context, r *wire.Request, each func(int, any)) error {
	b, err := e.c.newBlocking(ctx, r, askedNow(e.asksBefore(r)))
	if err != nil {
		each(0, err)
		return nil
	}
	b.req.Typed = false
	res, alive := b.perform(e.d)
	each(0, res) // even if the connection was lost behind an element
	if !alive {
		_ = e.lose(lostBehind(res))
	}
	return nil
}

// broken is lose of a connection that is to be told of.
func (e *exclusive) broken(err *errorx.Error) error {
	e.c.dedicatedLost(e.d, err)
	return e.lose(err)
}

// lose ends the connection.
func (e *exclusive) lose(err *errorx.Error) error {
	e.lost = err
	_ = e.d.Close()
	return e.c.withConn(err)
}

// alters reports whether RESET may not undo what a request does to its connection:
// what a server knows that this library does not, and what concerns the client, of
// which versions of servers reset different parts.
func alters(r *wire.Request) bool {
	call := command.Of(r.Cmd, r.Args())
	return call.Info == nil || strings.HasPrefix(call.Name, "CLIENT")
}

// Place implements wire.Dedicated.
func (e *exclusive) Place() wire.Place { return e.d.place() }

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
