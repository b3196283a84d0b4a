package redisconn

import (
	"bytes"
	"context"
	"runtime/debug"
	"slices"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/internal/wire"
	"github.com/joomcode/redispipe/redis"
)

const (
	// DoAsking makes SendBatchFlags send ASKING first.
	DoAsking = 1 << iota
	// DoTransaction makes SendBatchFlags wrap the requests into MULTI and EXEC.
	DoTransaction
)

var (
	reqAsking = redis.Req("ASKING")
	reqMulti  = redis.Req("MULTI")
	reqExec   = redis.Req("EXEC")
)

// Send implements redis.Sender.
func (c *Connection) Send(req Request, cb Future, n uint64) {
	c.SendAsk(req, cb, n, false)
}

// SendAsk sends a request, with ASKING before it if asking is set.
func (c *Connection) SendAsk(req Request, cb Future, n uint64, asking bool) {
	if err := c.check(req, cb); err != nil {
		c.refuse(cb, err.WithProperty(redis.EKRequest, req), n)
		return
	}
	q := &c.queue
	q.mu.Lock()
	err := q.admitLocked(1)
	var s *session
	if err == nil {
		b := q.openLocked()
		mark := b.mark()
		q.leadable = false
		if asking {
			c.appendOwnLocked(b, reqAsking)
		}
		if err = c.appendLocked(b, req, cb, n); err != nil {
			b.truncate(mark)
		} else {
			if asking {
				b.pin(mark) // ASKING must not stay without the request
			}
			s = q.addedLocked(mark)
		}
	}
	q.mu.Unlock()
	if err != nil {
		c.refuse(cb, err.WithProperty(redis.EKRequest, req), n)
		return
	}
	if s != nil {
		s.flush()
	}
}

// SendEncoded is for package redis.
func (c *Connection) SendEncoded(r *wire.Request, cb Future, n uint64) {
	if err := c.checkEncoded(r); err != nil {
		c.refuse(cb, err, n)
		return
	}
	q := &c.queue
	q.mu.Lock()
	err := q.admitLocked(1)
	if err == nil && !q.inTimeLocked(r.Deadline) {
		err = redis.ErrOverloaded.Wrap(context.DeadlineExceeded, "the deadline can't be met: %d requests are before this one", q.pending)
		q.wakeLocked() // this one may have been let in
	}
	if err != nil {
		q.mu.Unlock()
		c.refuse(cb, err, n)
		return
	}
	q.leadable = r.MayLead
	lead := r.MayLead && q.leadsLocked()
	b := q.openLocked()
	mark := b.mark()
	r.Ticket = wire.Ticket{Queue: q, Seq: q.seq}
	b.buf = append(b.buf, r.Buf...)
	b.foreign = b.foreign || r.Cancellable
	c.mayBlockLocked(b, r.Cmd, r.Buf)
	it := item{fut: cb, n: n, start: mark.bytes, end: len(b.buf), typed: r.Typed && !q.fenced && !c.wantsStat}
	if c.wantsStat {
		it.stat = &stat{req: Request{Cmd: r.Cmd, Args: r.Args()}, start: time.Now()}
	}
	b.items = append(b.items, it)
	s := q.addedLocked(mark)
	q.mu.Unlock()
	if lead {
		r.Leader = s
		return
	}
	if s != nil {
		s.flush()
	}
}

// TakesEncoded is for package redis: a decorator does not get SendEncoded by
// embedding the connection. A connection has no slots.
func (c *Connection) TakesEncoded(held redis.Sender) (takes, wantsSlot bool) {
	_, own := held.(*Connection)
	return own, false
}

// SendMany implements redis.Sender. The requests go out as one batch; if one
// of them is malformed, none is sent.
func (c *Connection) SendMany(reqs []Request, cb Future, start uint64) {
	c.SendBatch(reqs, cb, start)
}

// SendBatch sends requests in order, as one batch. If one of them is malformed,
// it ends with its own error, the rest with redis.ErrBatchFormat.
func (c *Connection) SendBatch(reqs []Request, cb Future, start uint64) {
	c.SendBatchFlags(reqs, cb, start, 0)
}

// SendBatchFlags is SendBatch with DoAsking and DoTransaction. With
// DoTransaction, cb is resolved for each request with what MULTI made of it
// ("QUEUED"), and with start+len(reqs) for what EXEC answered.
func (c *Connection) SendBatchFlags(reqs []Request, cb Future, start uint64, flags int) {
	if len(reqs) == 0 && flags&DoTransaction == 0 {
		return
	}
	for i, req := range reqs {
		if err := c.check(req, cb); err != nil {
			c.refuseBatch(reqs, cb, start, flags, err, i)
			return
		}
	}
	q := &c.queue
	q.mu.Lock()
	var s *session
	failed := -1
	err := q.admitLocked(len(reqs))
	if err == nil {
		q.leadable = false
		b := q.openLocked()
		mark := b.mark()
		if err, failed = c.appendBatchLocked(b, reqs, cb, start, flags); err != nil {
			b.truncate(mark)
		} else {
			if flags != 0 {
				b.pin(mark)
			}
			s = q.addedLocked(mark)
		}
	}
	q.mu.Unlock()
	if err != nil {
		c.refuseBatch(reqs, cb, start, flags, err, failed)
		return
	}
	if s != nil {
		s.flush()
	}
}

// appendBatchLocked adds requests to the open batch. On an error it returns
// the index of the request.
func (c *Connection) appendBatchLocked(b *batch, reqs []Request, cb Future, start uint64, flags int) (*errorx.Error, int) {
	if flags&DoAsking != 0 {
		c.appendOwnLocked(b, reqAsking)
	}
	if flags&DoTransaction != 0 {
		c.appendOwnLocked(b, reqMulti)
	}
	for i, req := range reqs {
		if err := c.appendLocked(b, req, cb, start+uint64(i)); err != nil {
			return err, i
		}
	}
	if flags&DoTransaction != 0 {
		_ = c.appendLocked(b, reqExec, cb, start+uint64(len(reqs)))
		b.items[len(b.items)-1].exec = true
		if len(reqs) > 0 { // the transaction counts as its requests
			b.own++
		}
	}
	return nil, -1
}

// appendLocked encodes one request into the open batch. It fails on arguments
// only.
func (c *Connection) appendLocked(b *batch, req Request, cb Future, n uint64) *errorx.Error {
	begin := len(b.buf)
	buf, err := redis.AppendRequest(b.buf, req)
	if err != nil {
		return redis.AsErrorx(err)
	}
	b.buf = buf
	c.mayBlockLocked(b, req.Cmd, buf[begin:])
	_, namer := cb.(wire.Namer)
	it := item{fut: cb, n: n, start: begin, end: len(buf), plain: cb != nil && !namer}
	b.plain = b.plain || it.plain
	switch cb.(type) {
	case nil, redis.FuncFuture:
	case *heartbeat, wire.Own:
		b.own++
	default:
		b.foreign = true
	}
	if c.wantsStat {
		it.stat = &stat{req: cloneRequest(req), start: time.Now()}
	}
	b.items = append(b.items, it)
	return nil
}

// mayBlockLocked adds to the batch for how long a request may block.
func (c *Connection) mayBlockLocked(b *batch, cmd string, encoded []byte) {
	if c.opts.ScriptMode {
		r := wire.Request{Cmd: cmd, Buf: encoded}
		b.blocks = plus(b.blocks, blockTime(cmd, r.Args()))
	}
}

func blockTime(cmd string, args []any) time.Duration {
	call := command.Of(cmd, args)
	return call.BlockTime()
}

// appendOwnLocked adds what goes before the user's requests.
func (c *Connection) appendOwnLocked(b *batch, req Request) {
	_ = c.appendLocked(b, req, nil, 0)
	b.own++
}

// SendTransaction implements redis.Sender: cb is resolved with EXEC's array.
// Without requests nothing is sent: it is resolved with an empty array at once.
func (c *Connection) SendTransaction(reqs []Request, cb Future, start uint64) {
	if len(reqs) == 0 {
		wire.ResolveEmpty(cb, start)
		return
	}
	c.SendBatchFlags(reqs, &transaction{cb: cb, n: start, exec: uint64(len(reqs))}, 0, DoTransaction)
}

// transaction passes on what EXEC answered, and drops the rest.
type transaction struct {
	cb   Future
	n    uint64
	exec uint64
}

// Resolve implements redis.Future.
func (t *transaction) Resolve(res any, n uint64) {
	if n == t.exec && t.cb != nil {
		t.cb.Resolve(res, t.n)
	}
}

// Cancelled implements redis.Future.
func (t *transaction) Cancelled() error {
	if t.cb == nil {
		return nil
	}
	return t.cb.Cancelled()
}

// check refuses what must not be sent.
func (c *Connection) check(req Request, cb Future) *errorx.Error {
	if cb != nil {
		if err := cb.Cancelled(); err != nil {
			return redis.ErrRequestWithdrawn.Wrap(err, "cancelled before it was sent")
		}
	}
	if err := redis.CheckRequest(req, c.opts.ScriptMode); err != nil {
		return redis.AsErrorx(err)
	}
	return nil
}

// refuse resolves a request that was not queued.
func (c *Connection) refuse(cb Future, err *errorx.Error, n uint64) {
	if err.IsOfType(redis.ErrQueueFull) {
		if _, batch := err.Property(wire.EKRoomer); !batch {
			err = err.WithProperty(wire.EKRoomer, room{&c.queue, 1})
		}
	}
	c.resolve(cb, c.withConn(err), n)
}

// refuseBatch resolves the requests of a batch that was not queued. The one of
// index failed has the error; if it is malformed, others are so by it.
func (c *Connection) refuseBatch(reqs []Request, cb Future, start uint64, flags int, err *errorx.Error, failed int) {
	rest := err
	if failed >= 0 {
		err = err.WithProperty(redis.EKRequest, reqs[failed])
		if !err.IsOfType(redis.ErrRequestCancelled) {
			rest = redis.ErrBatchFormat.Wrap(err, "request %d of the batch is malformed", failed)
		}
	}
	rest = rest.WithProperty(redis.EKRequests, reqs)
	if rest.IsOfType(redis.ErrQueueFull) {
		rest = rest.WithProperty(wire.EKRoomer, room{&c.queue, len(reqs)})
	}
	for i := range reqs {
		if i == failed {
			c.refuse(cb, err, start+uint64(i))
		} else {
			c.refuse(cb, rest.WithProperty(redis.EKRequest, reqs[i]), start+uint64(i))
		}
	}
	if flags&DoTransaction != 0 {
		c.refuse(cb, rest, start+uint64(len(reqs)))
	}
}

// resolve resolves a future in another place than the reader.
func (c *Connection) resolve(cb Future, res any, n uint64) {
	if cb == nil {
		return
	}
	defer func() {
		if v := recover(); v != nil {
			c.report(LogFuturePanic{Value: v, Stack: debug.Stack()})
		}
	}()
	cb.Resolve(res, n)
}

// resolveCancelled has resolved what was dropped. It does not wait for that: the
// caller may be one of Send, and may have the right to write.
func (c *Connection) resolveCancelled(items []item) {
	if len(items) == 0 {
		return
	}
	l := &leftovers{c: c}
	for _, it := range items {
		err := c.withConn(redis.ErrRequestWithdrawn.New("cancelled before it was sent"))
		if it.plain {
			err = err.WithProperty(redis.EKRequest, it.stat.req)
			it.plain = false
		}
		l.items = append(l.items, leftover{item: it, err: err})
	}
	l.begin()
}

// cloneRequest copies what the caller may change as soon as its call returns.
func cloneRequest(req Request) Request {
	req.Args = slices.Clone(req.Args)
	for i, arg := range req.Args {
		if b, ok := arg.([]byte); ok {
			req.Args[i] = bytes.Clone(b)
		}
	}
	return req
}

// checkEncoded is check for a request that is encoded.
func (c *Connection) checkEncoded(r *wire.Request) *errorx.Error {
	verdict := r.Shared
	if c.opts.ScriptMode {
		verdict = r.Single
	}
	if verdict == command.Allowed {
		return nil
	}
	return redis.AsErrorx(redis.CheckRequest(Request{Cmd: r.Cmd, Args: r.Args()}, c.opts.ScriptMode))
}
