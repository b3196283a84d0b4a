package redisconn

import (
	"context"
	"sync"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/internal/queue"
	"github.com/joomcode/redispipe/internal/timing"
	"github.com/joomcode/redispipe/internal/wire"
	"github.com/joomcode/redispipe/redis"
)

// blocking is a blocking command. It waits for a dedicated connection, has that until
// it is answered, and ends when its caller's context does.
type blocking struct {
	c      *Connection
	cb     Future
	n      uint64
	req    wire.Request // with a Buf of its own
	out    []byte       // req, after ASKING if asked is set
	asked  time.Time    // when ASK was said that led here
	blocks time.Duration
	stat   *queue.Stat
	ctx    context.Context
	*timing.Stages

	mu      sync.Mutex // guards the rest
	unwatch func() bool
	granted bool
	held    bool       // the sender is in block, and runs what is granted by then
	d       *dedicated // what was granted
}

// leavesShared reports whether a request, if it is sent by itself, goes to a dedicated
// connection.
func (c *Connection) leavesShared(r *wire.Request) bool {
	return r.Shared == command.WouldBlock && !c.opts.ScriptMode && c.opts.DedicatedConns > 0
}

// block sends a blocking command. Its future is resolved soon after its caller's
// context has ended, in any case. A caller that would only wait for it runs it here.
func (c *Connection) block(r *wire.Request, cb Future, n uint64, asking bool) *errorx.Error {
	b, err := c.newBlocking(wire.ContextOf(cb), r, askedNow(asking))
	if err != nil {
		return err
	}
	b.cb, b.n, b.held = cb, n, r.Held
	r.Ticket = wire.Ticket{Heeded: true}
	wire.Queued(cb, r.Ticket)
	leave, refused := c.pool.enter(b)
	if refused != nil { // with nothing to wait for, as a queue has that is full
		b.refuse(refused)
		return nil
	}
	if d, granted := b.letGo(); granted {
		b.run(d)
		return nil
	}
	b.watch(leave)
	return nil
}

// letGo returns what was granted while the sender held the request. What is granted from
// now on is for a goroutine of its own.
func (b *blocking) letGo() (d *dedicated, granted bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	granted, b.held = b.held && b.granted, false
	return b.d, granted
}

// newBlocking makes one of a request, which it copies. asked is when ASK was said that led
// here, or zero.
func (c *Connection) newBlocking(ctx context.Context, r *wire.Request, asked time.Time) (*blocking, *errorx.Error) {
	call := command.Of(r.Cmd, r.Args())
	b := &blocking{c: c, ctx: ctx, Stages: timing.Open(nil), req: *r, asked: asked, blocks: call.BlockTime()}
	if c.stat != nil {
		b.stat = c.stat(r)
	}
	if b.blocks == 0 {
		return nil, redis.ErrArgumentType.New("%s needs a timeout that is a number and not negative; 0 means none", call.Name)
	}
	if !asked.IsZero() {
		b.out = append(b.out, asking...)
	}
	start := len(b.out)
	b.out = append(b.out, r.Buf...)
	b.req.Buf, b.req.Ticket = b.out[start:], wire.Ticket{}
	return b, nil
}

// watch takes the request out of those who wait when its context ends.
func (b *blocking) watch(leave func() bool) {
	if b.ctx.Done() == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.granted {
		return
	}
	b.unwatch = context.AfterFunc(b.ctx, func() {
		if leave() {
			b.refuse(b.withdrawn())
		}
	})
}

// grant implements borrower. The goroutine owns the connection, and ends when the
// request is answered and the connection given back. There is none if the sender holds
// the request: handing it over would cost a caller two switches of goroutines.
func (b *blocking) grant(d *dedicated) {
	b.mu.Lock()
	b.granted = true
	if b.unwatch != nil {
		b.unwatch()
	}
	held := b.held
	b.d = d
	b.mu.Unlock()
	if !held {
		go b.run(d)
	}
}

// refuse implements borrower.
func (b *blocking) refuse(err *errorx.Error) { b.resolve(err, 0) }

func (b *blocking) withdrawn() *errorx.Error {
	return redis.ErrRequestWithdrawn.Wrap(b.ctx.Err(), "withdrawn before it was sent")
}

func (b *blocking) run(d *dedicated) {
	if b.cancelled() {
		b.c.pool.giveBack(d, true)
		b.resolve(b.withdrawn(), 0)
		return
	}
	d, err := b.c.ready(b.ctx, d)
	if err != nil {
		b.resolve(err, 0)
		return
	}
	res, alive := b.perform(d)
	size := d.Dec.Size()
	if b.req.Observed {
		wire.AnsweredBy(b.cb, d.place())
	}
	b.c.pool.giveBack(d, alive) // first, so that who sends the next one finds it
	b.resolve(res, size)
}

// perform has the request run on a connection, until its context ends or the pool is
// drained. alive is whether the connection can be used again.
func (b *blocking) perform(d *dedicated) (res any, alive bool) {
	if b.c.queue.Withheld() || !b.c.pool.begin() {
		return errClosed(), true
	}
	defer b.c.pool.end()
	answered, unblocked := make(chan struct{}), make(chan bool, 1)
	unblock := sync.OnceFunc(func() { unblocked <- d.unblock(b.ctx, answered) })
	stopCtx := context.AfterFunc(b.ctx, unblock)
	stopPool := context.AfterFunc(b.c.pool.ctx, unblock)
	res, alive = b.exchange(d)
	close(answered)
	began := !stopCtx()
	if began = !stopPool() || began; began {
		alive = <-unblocked && alive
	}
	if !alive {
		b.c.dedicatedLost(d, lostBehind(res))
	}
	return res, alive
}

// cancelled reports whether nobody waits for the result any more.
func (b *blocking) cancelled() bool {
	return b.ctx.Err() != nil || b.cb != nil && queue.IsCancelled(b.cb)
}

// unblockedMost bounds how often a command is sent again that somebody else has had
// unblocked, as a server that changes its role does once.
const unblockedMost = 8

// exchange sends the request and returns what becomes of it. alive is whether the
// connection can be used again.
func (b *blocking) exchange(d *dedicated) (res any, alive bool) {
	b.NoteWrite()
	for again := 0; ; again++ {
		d.prepare(b.blocks)
		out, asks := b.out, askHolds(b.asked)
		if !asks {
			out = b.req.Buf
		}
		if sent, err := d.send(out); err != nil {
			return lostError(b.ctx, err, sent), false
		}
		res, err := b.read(d, asks)
		if err != nil {
			return lostError(b.ctx, redis.AsErrorx(err), true), false
		}
		if !isUnblocked(res) {
			return res, true
		}
		later, ran, err := d.confirm()
		switch {
		case ran:
			return later, err == nil
		case err != nil:
			return lostError(b.ctx, redis.AsErrorx(err), true), false
		case b.ctx.Err() != nil:
			return redis.ErrRequestWithdrawn.Wrap(b.ctx.Err(), "unblocked before the server did anything"), true
		case b.c.pool.ctx.Err() != nil, b.c.queue.Withheld():
			return errClosed(), true
		case again == unblockedMost:
			return res, true
		}
	}
}

// read reads the reply, and before it that to ASKING, if that was sent.
func (b *blocking) read(d *dedicated, asked bool) (any, error) {
	if err := d.skipAsking(asked); err != nil {
		return nil, err
	}
	if err := b.AwaitFirstByte(d.Dec); err != nil {
		return nil, err
	}
	if b.req.Typed {
		return b.cb.(wire.ReplyDecoder[*redis.Decoder]).DecodeReply(d.Dec, b.n)
	}
	return d.Dec.Decode()
}

// lostBehind is with what a connection was lost on which a request ended with res.
func lostBehind(res any) *errorx.Error {
	err := redis.AsErrorx(res)
	if err == nil || err.IsOfType(redis.ErrResult) {
		err = redis.ErrIO.New("the connection was lost behind a reply")
	}
	return err
}

// lostError is what a request ends with whose connection was lost. sent is whether any
// of it may have been.
func lostError(ctx context.Context, err *errorx.Error, sent bool) *errorx.Error {
	switch {
	case !sent && ctx.Err() != nil:
		return redis.ErrRequestWithdrawn.Wrap(ctx.Err(), "withdrawn before it was sent")
	case !sent:
		return err
	case ctx.Err() != nil:
		return redis.ErrRequestCancelled.Wrap(ctx.Err(), "abandoned, it may have run")
	case err.IsOfType(redis.ErrIO):
		return err
	}
	return redis.ErrIO.Wrap(err, "connection lost")
}

// resolve resolves the request. size is that of the reply, if there is one.
func (b *blocking) resolve(res any, size int) {
	b.c.countDedicated(res, 1)
	if err, failed := res.(*errorx.Error); failed {
		err = b.Explain(b.c.withConn(err))
		if b.req.Plain {
			err = err.WithProperty(redis.EKRequest, Request{Cmd: b.req.Cmd, Args: b.req.Args()})
		}
		res = err
	}
	if b.stat != nil && size > 0 {
		defer b.c.pipe.Resolve(b.cb, res, b.n) // even if the logger ends the goroutine
		b.c.pipe.Tell(b.stat, res, size, len(b.out))
		return
	}
	b.c.pipe.Resolve(b.cb, res, b.n)
}
