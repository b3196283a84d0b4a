package rediscluster

import (
	"math/rand/v2"
	"net"
	"runtime/debug"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/redis"
)

// passenger is what travels: an attempt or a transaction. Once it is sent or
// resolved it may be in other hands: nobody touches it then.
type passenger interface {
	// sendTo sends it to the link, after ASKING if so asked.
	sendTo(l *link, asking bool)
	// giveUp resolves it with an error.
	giveUp(err *errorx.Error)
	// outlive is called before it outlives the call that sent it.
	outlive()
	// mayRepeat tells whether it does no harm if it runs twice.
	mayRepeat() bool
	// Cancelled tells why nobody waits for the result any more.
	Cancelled() error
}

// course is where a request has been and where it is to go. It performs what
// redirect decides, for single requests and transactions alike.
type course struct {
	c    *Cluster
	way  way
	done tries
	// at is the link that the request is on, or was on last.
	at *link
	// held is the counter that has the request: that of a link, or of those
	// that wait.
	held *atomic.Int64
	// failed is when it failed first.
	failed time.Time
	// unknown is the first error after which the request may have run.
	unknown *errorx.Error
}

// hold has the request counted by n, and no more by what counted it so far; nil
// is for the end. One of them counts it at any time, and who has added up all
// counters sees by moves that it went from one to another meanwhile.
func (k *course) hold(n *atomic.Int64) {
	if n != nil {
		n.Add(1)
	}
	if k.held != nil {
		if n != nil {
			k.c.moves.Add(1)
		}
		k.held.Add(-1)
	}
	k.held = n
}

// launch sends it where the topology says. The first time it is counted before
// draining is looked at, so that Shutdown either knows of it or has it refused.
func (k *course) launch(p passenger) {
	fresh := k.held == nil
	l := k.c.topology.Load().route(k.way)
	if l == nil {
		k.hold(&k.c.waiting)
	} else {
		k.at = l
		k.hold(&l.pending)
	}
	switch {
	case k.c.closed.Load(), fresh && k.c.draining.Load():
		k.end(p, k.c.errClosed())
	case l == nil:
		k.settle(p, k.c.errNoLink(k.way))
	default:
		p.sendTo(l, false)
	}
}

// settle does what is to be done after an error.
func (k *course) settle(p passenger, err *errorx.Error) {
	if k.c.closed.Load() {
		k.end(p, err)
		return
	}
	if k.failed.IsZero() {
		k.failed = time.Now()
	}
	k.done.elapsed = time.Since(k.failed)
	lost := err.IsOfType(redis.ErrIO)
	d := redirect(err, k.done, lost && p.mayRepeat(), k.c.limits)
	if d.refresh {
		k.c.refresher.force()
	}
	if lost && k.unknown == nil {
		k.unknown = err
	}
	if d.action == resolveIt {
		k.end(p, err)
		return
	}
	k.done = d.count(k.done)
	k.way.avoid = nil
	if d.masterOnly {
		k.way.replicas = false
	}
	switch d.action {
	case followMoved, followAsk:
		k.follow(p, err, d)
	case retryElsewhere:
		k.way.avoid = k.at
		k.later(p, err, jittered(d.wait))
	case repeatIt:
		k.later(p, err, jittered(d.wait))
	case awaitMigration:
		k.later(p, err, d.wait)
	}
}

// end resolves it with an error, which does not say "not sent" if an earlier
// one left that unknown.
func (k *course) end(p passenger, err *errorx.Error) {
	if k.unknown != nil && err.HasTrait(redis.ErrTraitNotSent) {
		err = k.unknown
	}
	p.giveUp(err)
}

// follow sends it to where a redirect leads. An address that the topology does
// not have is looked for once more after a refresh: nothing is ever sent, and
// no password, to a host that only a redirect named. If too many wait for that,
// it ends with err.
func (k *course) follow(p passenger, err *errorx.Error, d decision) {
	if d.host == "" {
		d.host = k.at.node.host()
	}
	addr := net.JoinHostPort(d.host, strconv.Itoa(d.port))
	if n := k.c.topology.Load().find(addr); n != nil {
		k.board(p, n, d.action == followAsk)
		return
	}
	if !k.mayWait() {
		k.end(p, err)
		return
	}
	p.outlive()
	k.hold(&k.c.waiting)
	k.c.refresher.after(func() {
		defer k.c.recovered()
		if n := k.c.topology.Load().find(addr); n != nil && !k.c.closed.Load() {
			k.board(p, n, d.action == followAsk)
			return
		}
		k.resume(p)
	})
}

// board sends it to a node.
func (k *course) board(p passenger, n *node, asking bool) {
	l := n.pick(k.way.seed, nil)
	if l == nil {
		k.settle(p, k.c.errNoLink(k.way))
		return
	}
	k.at = l
	k.hold(&l.pending)
	p.sendTo(l, asking)
}

// maxWaiting bounds the requests that wait for another attempt, so that those
// who send on and on to a shard that is gone do not fill the memory: 16 MB with
// small arguments.
const maxWaiting = 1 << 16

// mayWait reports whether one more request may wait.
func (k *course) mayWait() bool {
	return k.held == &k.c.waiting || k.c.waiting.Load() < maxWaiting
}

// later launches it again after a pause, or ends it with err if too many wait.
func (k *course) later(p passenger, err *errorx.Error, wait time.Duration) {
	switch {
	case wait == 0:
		k.launch(p)
		return
	case !k.mayWait():
		k.end(p, err)
		return
	}
	p.outlive()
	k.hold(&k.c.waiting)
	time.AfterFunc(wait, func() {
		defer k.c.recovered()
		k.resume(p)
	})
}

// resume launches it after a pause, in which its caller may have gone.
func (k *course) resume(p passenger) {
	if err := p.Cancelled(); err != nil {
		// It was sent to somebody, or there was nobody to send it to; only
		// after the latter it is certain that no byte was written.
		k.end(p, redis.ErrRequestCancelled.Wrap(err, "cancelled between two attempts"))
		return
	}
	k.launch(p)
}

// jittered draws from around a pause, so that those who failed together do not
// come again together.
func jittered(wait time.Duration) time.Duration {
	if wait == 0 {
		return 0
	}
	return wait/2 + rand.N(wait)
}

// recovered reports a panic of what is the user's, in a goroutine that is the
// cluster's.
func (c *Cluster) recovered() {
	if v := recover(); v != nil {
		c.report(LogFuturePanic{Value: v, Stack: debug.Stack()})
	}
}
