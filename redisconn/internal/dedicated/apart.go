package dedicated

import (
	"bytes"
	"context"
	"time"

	"github.com/joomcode/redispipe/internal/resp"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/internal/timing"
	"github.com/joomcode/redispipe/redis"
)

// A read whose reply is likely to be large runs apart, on a dedicated connection. On the shared
// connection, all later replies would wait for that reply.
//
// The read runs after all requests that have entered the shared connection before it: it is sent when a
// PING there has been answered, and only to the same server process. It runs before all later requests
// of its caller, because the caller waits for it. If the caller leaves earlier, it gets no reply, so the
// order no longer matters. If the read can't be sent apart, it is sent on the shared connection. Reads
// never keep a place that another user of the pool waits for.

const (
	// apartMost is how many reads run apart at a time, and apartQueue how many may wait for that, if
	// Config.Queue and Config.MaxBytes allow as many.
	apartMost  = 2
	apartQueue = 128
	// apartAgain is how long all reads use the shared connection after a dedicated connection to the same
	// process could not be made.
	apartAgain = time.Minute
)

// reads are the reads that run apart. Pool.mu guards it.
type reads struct {
	running int
	server  string    // run_id of the process that runs them
	waiting []*apart  // for the same process; their sizes are in Pool.bytes
	making  bool      // a connection for them is being made
	until   time.Time // before this time, no connection for them is made
}

// apart is a read that runs apart.
type apart struct {
	timing.Stages
	p      *Pool
	shared Shared
	server string       // run_id of the process that shared leads to
	req    send.Request // with a Buf of its own
	cb     redis.Future
	n      uint64
	stat   *timing.Stat
	sized  func(reply int)
}

// Apart runs a read apart, if a connection for that is idle or runs other such reads. Otherwise it
// returns false, and may make a connection for later reads. The caller of the read must wait for it.
// stat is passed to [Owner.Resolve], and the size of the reply to sized.
func (p *Pool) Apart(r *send.Request, cb redis.Future, n uint64, stat *timing.Stat, sized func(reply int)) (taken bool) {
	shared := p.owner.Shared()
	if shared == nil {
		return false
	}
	server := shared.RunID()
	switch {
	case server == nil:
		if p.asksRunID.CompareAndSwap(false, true) {
			shared.AskRunID(func(error) { p.asksRunID.Store(false) })
		}
		return false
	case *server == "":
		return false
	}
	a := &apart{Stages: timing.Stages{Opened: timing.Clock()}, p: p, shared: shared, server: *server, req: *r, cb: cb, n: n, stat: stat, sized: sized}
	a.req.Buf, a.req.Ticket, a.req.Done = bytes.Clone(r.Buf), send.Ticket{}, nil
	a.req.Typed = r.Typed && stat == nil // a logger needs the result, so the future must not decode the reply
	c, taken := p.enterApart(a)
	if c != nil {
		go a.serve(c)
	}
	return taken
}

// enterApart takes an idle connection to the server, or puts a on the list of waiting reads. taken is set if
// it did one of them.
func (p *Pool) enterApart(a *apart) (c *Conn, taken bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := &p.reads
	if p.ctx.Err() != nil || p.waiting.Len() > 0 || r.running > 0 && r.server != a.server {
		return nil, false
	}
	if r.running < apartMost && p.places < p.config.Most {
		last := len(p.idle) - 1
		switch {
		case last >= 0 && p.idle[last].self.server == a.server:
			if p.users.Begin() {
				p.places++
				r.running++
				r.server = a.server
				return p.lastIdleLocked(), true
			}
		case !r.making && p.places+len(p.idle) < p.config.Most && time.Now().After(r.until) && p.users.Begin():
			p.places++
			r.making = true
			go p.makeApart(a.server)
		}
	}
	size := len(a.req.Buf)
	if r.running == 0 || len(r.waiting) >= min(apartQueue, p.config.Queue) || p.bytes+size > p.config.MaxBytes {
		return nil, false
	}
	r.waiting = append(r.waiting, a)
	p.bytes += size
	return nil, true
}

// makeApart makes a connection and releases it to the pool. Its goroutine ends then.
func (p *Pool) makeApart(server string) {
	c, err := p.open()
	p.mu.Lock()
	p.reads.making = false
	if err != nil || c.self.server != server {
		p.reads.until = time.Now().Add(apartAgain)
	}
	p.mu.Unlock()
	p.release(c, err == nil)
}

// serve runs the read on c, passes c on and resolves the read.
func (a *apart) serve(c *Conn) {
	res, size, sent, alive := a.run(c)
	if sent && a.req.Observed {
		send.AnsweredBy(a.cb, a.p.place(c))
	}
	if !alive {
		a.p.noteLost(c, lostBehind(res))
	}
	a.p.nextApart(c, alive)
	if !sent {
		a.passOn()
		return
	}
	if size > 0 {
		a.sized(size)
	}
	a.resolve(res, size)
}

// run runs the read on c. If sent is false, the read must be sent on the shared connection. size is the
// size of the reply, or 0.
func (a *apart) run(c *Conn) (res any, size int, sent, alive bool) {
	if send.IsCancelled(a.cb) || !a.earlierRan() {
		return nil, 0, false, true
	}
	if err := c.check(context.Background(), a.p.dialer.Timeout); err != nil {
		return err, 0, false, false
	}
	c.prepare(0)
	if a.p.owner.Withheld() || send.IsCancelled(a.cb) { // if they are withheld only later, EndWrites ends this write
		return nil, 0, false, true
	}
	a.NoteWrite()
	if sent, err := c.send(a.req.Buf); err != nil {
		return lostError(context.Background(), err, sent), 0, sent, false
	}
	err := c.await(&a.Stages, false)
	switch {
	case err != nil:
	case a.req.Typed:
		res, err = a.cb.(resp.ReplyDecoder).DecodeReply(c.Dec, a.n)
	default:
		res, err = c.Dec.Decode()
	}
	if err != nil {
		return lostError(context.Background(), redis.AsErrorx(err), true), 0, true, false
	}
	return res, c.Dec.Size(), true, true
}

// earlierRan waits until all requests that entered the shared connection before have run. It returns
// false if the socket is lost before.
func (a *apart) earlierRan() bool {
	answer := make(chan any, 1)
	a.shared.Send(redis.Req("PING"), func(res any, _ uint64) { answer <- res })
	err := redis.AsErrorx(<-answer)
	return err == nil || err.IsOfType(redis.ErrResult)
}

// nextApart gives the connection of a read that has ended to the next read that waits, or releases it. If
// no other connection runs reads then, the waiting reads are sent on the shared connection.
func (p *Pool) nextApart(c *Conn, alive bool) {
	p.mu.Lock()
	r := &p.reads
	if alive && len(r.waiting) > 0 && p.waiting.Len() == 0 && c.generation == p.generation && !p.closed {
		next := r.waiting[0]
		r.waiting[0] = nil
		r.waiting = r.waiting[1:]
		p.bytes -= len(next.req.Buf)
		p.mu.Unlock()
		go next.serve(c)
		return
	}
	var left []*apart
	if r.running--; r.running == 0 {
		left = p.takeReadsLocked()
	}
	p.mu.Unlock()
	p.release(c, alive)
	passOn(left)
}

// takeReadsLocked takes the reads that wait off the list. The caller must have the lock.
func (p *Pool) takeReadsLocked() (left []*apart) {
	left, p.reads.waiting = p.reads.waiting, nil
	for _, a := range left {
		p.bytes -= len(a.req.Buf)
	}
	return left
}

// passOn sends reads on the shared connection.
func passOn(reads []*apart) { send.Each(0, len(reads), func(i int) { reads[i].passOn() }) }

// passOn sends the read on the shared connection.
func (a *apart) passOn() {
	if why := send.WhyCancelled(a.cb); why != nil {
		a.resolve(redis.ErrRequestWithdrawn.Wrap(why, "the caller has left"), 0)
		return
	}
	if refused := a.p.owner.Enter(&a.req, a.cb, a.n); refused != nil {
		a.resolve(refused, 0)
	}
}

// resolve resolves the future. size is the size of the reply, or 0.
func (a *apart) resolve(res any, size int) {
	if err := redis.AsErrorx(res); err != nil {
		res = a.Explain(a.p.owner.WithConn(err))
	}
	a.p.count(res, 1)
	a.p.owner.Resolve(a.cb, a.n, res, a.stat, size, len(a.req.Buf))
}
