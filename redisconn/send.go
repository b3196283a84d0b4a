package redisconn

import (
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/internal/queue"
	"github.com/joomcode/redispipe/internal/request"
	"github.com/joomcode/redispipe/internal/wire"
	"github.com/joomcode/redispipe/redis"
)

const (
	// DoAsking makes SendBatchFlags send ASKING first.
	DoAsking = 1 << iota
	// DoTransaction makes SendBatchFlags wrap the requests into MULTI and EXEC.
	DoTransaction
)

// Send implements redis.Sender.
func (c *Connection) Send(req Request, cb Future, n uint64) {
	c.SendAsk(req, cb, n, false)
}

// SendAsk sends a request, with ASKING before it if asking is set.
func (c *Connection) SendAsk(req Request, cb Future, n uint64, asking bool) {
	scratch := wire.GetScratch()
	defer wire.PutScratch(scratch)
	r := &scratch.Request
	*r = wire.Request{}
	err := askFuture(r, cb)
	if err == nil {
		err = encodeTo(scratch, r, req)
	}
	if err == nil {
		err = c.sendOne(r, cb, n, asking)
	}
	if err != nil {
		c.refuse(cb, err.WithProperty(redis.EKRequest, req), n)
		return
	}
	wire.Queued(cb, r.Ticket)
}

// sendOne sends a request by itself: on the shared connection, or on a dedicated one if
// it blocks.
func (c *Connection) sendOne(r *wire.Request, cb Future, n uint64, asking bool) *errorx.Error {
	if c.leavesShared(r) {
		return c.block(r, cb, n, asking)
	}
	if err := c.checkEncoded(r, 0); err != nil {
		return err
	}
	one := [1]*wire.Request{r}
	_, err := c.enter(one[:], cb, n, flagAsking(asking))
	return err
}

func flagAsking(asking bool) int {
	if asking {
		return DoAsking
	}
	return 0
}

// askFuture notes in r the abilities of its future. It refuses a request that nobody
// waits for any more.
func askFuture(r *wire.Request, cb Future) (refused *errorx.Error) {
	if cb != nil {
		if err := cb.Cancelled(); err != nil {
			return redis.ErrRequestWithdrawn.Wrap(err, "cancelled before it was sent")
		}
	}
	_, namer := cb.(wire.Namer)
	r.Caller, r.Plain, r.Observed = wire.CallerOf(cb), cb != nil && !namer, wire.Observes(cb)
	return nil
}

// encodeTo encodes a request into s and describes it in r, whose buffer is zero.
func encodeTo(s *wire.Scratch, r *wire.Request, req Request) *errorx.Error {
	var err error
	s.Buf, err = request.EncodeTo(r, s.Buf, req, false)
	return redis.AsErrorx(err)
}

// checkEncoded refuses a request that must not be sent with these flags.
func (c *Connection) checkEncoded(r *wire.Request, flags int) *errorx.Error {
	verdict := r.Shared
	single := c.opts.ScriptMode && !(flags&DoTransaction != 0 && command.BoundsTransaction(r.Cmd))
	if single {
		verdict = r.Single
	}
	if verdict == command.Allowed {
		return nil
	}
	return redis.AsErrorx(redis.CheckRequest(Request{Cmd: r.Cmd, Args: r.Args()}, single))
}

// enter queues users' requests that are written together: with flags after ASKING, or
// between MULTI, whose number is n-1, and EXEC. last is the ticket of the last of them. Once
// the requests are written, their owner may send them again, so nobody may read reqs
// afterwards.
func (c *Connection) enter(reqs []*wire.Request, cb Future, n uint64, flags int) (last wire.Ticket, _ *errorx.Error) {
	return c.pipe.Enter(reqs, &queue.Entry{
		Future: cb, N: n, Stat: c.stat, Blocks: c.opts.ScriptMode,
		Asking: flags&DoAsking != 0, Transaction: flags&DoTransaction != 0,
	})
}

// blockTime is how long a request may block.
func blockTime(cmd string, args []any) time.Duration {
	call := command.Of(cmd, args)
	return call.BlockTime()
}
