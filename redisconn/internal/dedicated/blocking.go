package dedicated

import (
	"context"
	"sync"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/resp"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/internal/sock"
	"github.com/joomcode/redispipe/internal/timing"
	"github.com/joomcode/redispipe/redis"
)

// blocking is a blocking command. It waits for a dedicated connection, and uses that connection
// until the answer arrives or the caller's context ends.
type blocking struct {
	p     *Pool
	cb    redis.Future
	n     uint64
	req   send.Request // with its own Buf
	out   []byte       // req, after ASKING if asked is set
	asked time.Time    // when the ASK came that the request follows; zero without one
	stat  *timing.Stat // nil if the logger wants no statistics
	ctx   context.Context
	timing.Stages

	c *Conn // the connection on which the command runs
	// once runs for the first of two events: the command is answered, or unblock starts to unblock
	// it. Before it starts, unblock sets answered and unblocked.
	once      sync.Once
	answered  chan struct{} // closed when the command is answered
	unblocked chan bool     // receives whether the connection can be used again
}

// Block sends a blocking command. It resolves the future soon after the end of its caller's
// context, if not before. If the caller would only wait, the command runs in the caller's
// goroutine. Block passes stat to [Owner.Resolve].
func (p *Pool) Block(r *send.Request, cb redis.Future, n uint64, stat *timing.Stat) *errorx.Error {
	b, err := p.newBlocking(send.ContextOf(cb), r, askedNow(r.Asking))
	if err != nil {
		return err
	}
	b.cb, b.n, b.stat = cb, n, stat
	r.Ticket = send.Ticket{Heeded: true}
	send.Queued(cb, r.Ticket)
	t, refused := p.enter(len(b.out))
	switch {
	case refused != nil: // unlike with a full queue, the caller can't wait for room
		b.resolve(refused, 0)
	case r.Inline: // another goroutine would cost the caller two switches
		b.serve(t)
	default:
		go b.serve(t)
	}
	return nil
}

// newBlocking makes a blocking command from a request, which it copies. asked is the time of the
// ASK that the request follows, or zero.
func (p *Pool) newBlocking(ctx context.Context, r *send.Request, asked time.Time) (*blocking, *errorx.Error) {
	if r.Blocks == 0 {
		call := command.Of(r.Cmd, nil)
		return nil, redis.ErrArgumentType.New("%s needs a timeout that is a number and not negative; 0 means none", call.Name)
	}
	b := &blocking{p: p, ctx: ctx, Stages: timing.Stages{Opened: timing.Clock()}, req: *r, asked: asked}
	if !asked.IsZero() {
		b.out = append(b.out, asking...)
	}
	start := len(b.out)
	b.out = append(b.out, r.Buf...)
	b.req.Buf, b.req.Ticket = b.out[start:], send.Ticket{}
	return b, nil
}

// serve waits for a connection, runs the request on it, releases the connection, and resolves the
// future. It runs in its own goroutine, or in that of a sender that would only wait.
func (b *blocking) serve(t turn) {
	c, err := b.p.await(b.ctx, t)
	if err != nil {
		defer b.p.users.End()
		b.resolve(err, 0)
		return
	}
	asked := false
	defer func() {
		if !asked { // the future has ended the goroutine that asked it: it counts as not cancelled
			go b.serveOn(c)
		}
	}()
	cancelled := b.ctx.Err() != nil || b.cb != nil && send.IsCancelled(b.cb)
	asked = true
	if cancelled {
		b.p.release(c, true)
		b.resolve(errs.Withdrawn(b.ctx), 0)
		return
	}
	b.serveOn(c)
}

// serveOn is serve after the pool has granted a place. c is the connection that came with the
// place, or nil.
func (b *blocking) serveOn(c *Conn) {
	c, err := b.p.ready(b.ctx, c)
	if err != nil {
		b.resolve(err, 0)
		return
	}
	b.p.noteReady(b.Opened)
	res, alive := b.perform(c)
	size := c.Dec.Size()
	if b.req.Observed {
		send.AnsweredBy(b.cb, b.p.place(c))
	}
	b.p.release(c, alive) // before resolve, so that the sender of the next command finds the connection idle
	b.resolve(res, size)
}

// perform runs the request on a connection. It unblocks the request when its context ends or the
// pool is drained. alive is set if the connection can be used again.
func (b *blocking) perform(c *Conn) (res any, alive bool) {
	b.c = c
	if b.p.ctx.Err() != nil || !b.p.blocking.Begin() {
		return sock.Refused(b.p.ctx), true
	}
	defer b.p.blocking.End()
	unblock := b.unblock
	stop, stopDraining := context.AfterFunc(b.ctx, unblock), context.AfterFunc(b.p.ctx, unblock)
	res, alive = b.run(c)
	stop()
	stopDraining()
	b.once.Do(func() {})
	if b.unblocked != nil {
		close(b.answered)
		alive = <-b.unblocked && alive
	}
	if !alive {
		b.p.noteLost(c, lostBehind(res))
	}
	return res, alive
}

// unblock starts to unblock the command, unless it has been answered. It does not wait.
func (b *blocking) unblock() {
	b.once.Do(func() {
		b.answered, b.unblocked = make(chan struct{}), make(chan bool, 1)
		go func() { b.unblocked <- b.p.unblock(b.ctx, b.c, b.answered) }()
	})
}

// unblockedMost bounds how often a command is sent again after another client has unblocked it. A
// server that changes its role unblocks it once.
const unblockedMost = 8

// run sends the request and returns its result. alive is set if the connection can be
// used again.
func (b *blocking) run(c *Conn) (res any, alive bool) {
	b.NoteWrite()
	for again := 0; ; again++ {
		c.prepare(b.req.Blocks)
		if b.p.ctx.Err() != nil || b.p.owner.Withheld() { // otherwise EndWrites is still to come, and will end this write
			return sock.Refused(b.p.ctx), true
		}
		out, asks := b.out, askHolds(b.asked)
		if !asks {
			out = b.req.Buf
		}
		if sent, err := c.send(out); err != nil {
			return lostError(b.ctx, err, sent), false
		}
		res, err := b.read(c, asks)
		if err != nil {
			return lostError(b.ctx, redis.AsErrorx(err), true), false
		}
		switch {
		case !isUnblocked(res):
			return res, true
		case redis.AsErrorx(res).IsOfType(redis.ErrUnblocked):
			return res, false // the server closes the connection. A paused command is answered with a different text
		}
		later, ran, err := c.confirm()
		switch {
		case ran:
			return later, err == nil
		case err != nil:
			return lostError(b.ctx, redis.AsErrorx(err), true), false
		case b.ctx.Err() != nil:
			return redis.ErrRequestWithdrawn.Wrap(b.ctx.Err(), "unblocked before the server did anything"), true
		case again == unblockedMost:
			return res, true
		}
	}
}

// read reads the reply. If asked is set, it first reads the reply to ASKING.
func (b *blocking) read(c *Conn, asked bool) (any, error) {
	if err := c.await(&b.Stages, asked); err != nil {
		return nil, err
	}
	if b.req.Typed {
		return b.cb.(resp.ReplyDecoder).DecodeReply(c.Dec, b.n)
	}
	return c.Dec.Decode()
}

// lostBehind returns the error of a connection that was lost during a request. res is the result of
// the request: that error, or a reply after which the connection was lost.
func lostBehind(res any) *errorx.Error {
	err := redis.AsErrorx(res)
	if err == nil || err.IsOfType(redis.ErrResult) {
		err = redis.ErrIO.New("the connection was lost after a reply")
	}
	return err
}

// resolve resolves the future. size is the size of the reply, or 0.
func (b *blocking) resolve(res any, size int) {
	if err, failed := res.(*errorx.Error); failed {
		err = b.Explain(b.p.owner.WithConn(err))
		if b.req.Plain {
			err = err.WithProperty(redis.EKRequest, redis.Request{Cmd: b.req.Cmd, Args: b.req.Args()})
		}
		res = err
	}
	b.p.count(res, 1)
	b.p.owner.Resolve(b.cb, b.n, res, b.stat, size, len(b.out))
}
