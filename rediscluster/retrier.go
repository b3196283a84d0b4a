package rediscluster

import (
	"context"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/pause"
	"github.com/joomcode/redispipe/internal/route"
	"github.com/joomcode/redispipe/internal/topology"
	"github.com/joomcode/redispipe/internal/wire"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
)

// retryable is what can be sent several times: an attempt, a transaction, or the wish of
// a session to borrow a connection. Once it is sent or resolved it may be in other hands:
// nobody touches it then.
type retryable interface {
	// sendTo sends it over the connection, after ASKING if so asked.
	sendTo(conn *redisconn.Connection, asking bool)
	// fail resolves it with an error.
	fail(err *errorx.Error)
	// idempotent reports whether it does no harm if it runs twice.
	idempotent() bool
	// Cancelled returns why nobody waits for the result any more.
	Cancelled() error
}

// retrier sends a retryable until it is resolved: it knows what was tried, and
// does what redirect decides.
type retrier struct {
	c     *Cluster
	spec  routeSpec
	tries topology.Tries
	// link is where the request is, or was last.
	link *route.Link
	// counter is the one that counts the request: that of a link, or of those
	// that wait.
	counter *atomic.Int64
	// failed is when it failed first.
	failed time.Time
	// unknown is the first error after which the request may have run.
	unknown *errorx.Error
}

// countIn counts the request in n instead of the counter that it was in; nil takes it
// out at the end. At any time it is in one of them. Shutdown, which adds up all counters,
// sees by moves that a request has gone from one to another in the meantime.
func (k *retrier) countIn(n *atomic.Int64) {
	if n != nil {
		n.Add(1)
	}
	if k.counter != nil {
		if n != nil {
			k.c.moves.Add(1)
		}
		k.counter.Add(-1)
	}
	k.counter = n
}

// place finds the link that the topology has for it, nil if there is none, and counts it
// there: see enter, through which all goes that the cluster sends.
func (k *retrier) place() (l *route.Link, open bool) {
	l = k.c.topology.Load().Route(k.spec.Spec)
	return l, k.enter(l)
}

// enter counts it on a link, or among those that wait if that is nil, and reports whether
// the cluster takes it. The first time it is counted before draining is read, so that
// Shutdown either knows of it or has it refused.
func (k *retrier) enter(l *route.Link) (open bool) {
	first := k.counter == nil
	if l == nil {
		k.countIn(&k.c.waiting)
	} else {
		k.link = l
		k.countIn(&l.Pending)
	}
	return !k.c.closed.Load() && !((first || k.spec.blocks) && k.c.draining.Load())
}

// dispatch sends it where the topology says.
func (k *retrier) dispatch(r retryable) {
	l, open := k.place()
	k.follow(r, l, open, false)
}

// follow sends it over the link where it was counted, unless there is none, or the cluster
// does not take it.
func (k *retrier) follow(r retryable, l *route.Link, open, asking bool) {
	switch {
	case !open:
		k.giveUp(r, k.c.errClosed())
	case l == nil:
		k.await(r)
	default:
		r.sendTo(l.Conn, asking)
	}
}

// await has it wait after errNoLink, or until its channel may be published to.
func (k *retrier) await(r retryable) {
	err := k.c.errNoLink(k.spec)
	if wait := k.c.topology.Load().HoldsBack(k.spec.Slot); k.spec.Publishes && wait > 0 {
		k.retryAfter(r, err, wait)
		return
	}
	k.handleError(r, err)
}

// handleError does what is to be done after an error.
func (k *retrier) handleError(r retryable, err *errorx.Error) {
	if k.c.closed.Load() {
		k.giveUp(r, err)
		return
	}
	if k.failed.IsZero() {
		k.failed = time.Now()
	}
	k.tries.Elapsed = time.Since(k.failed)
	lost := err.IsOfType(redis.ErrIO)
	if lost && k.unknown == nil {
		k.unknown = err
	}
	k.act(r, err, topology.Redirect(err, k.tries, lost && r.idempotent(), k.c.limits))
}

// act does what was decided after an error.
func (k *retrier) act(r retryable, err *errorx.Error, d topology.Decision) {
	k.learn(d)
	k.c.counts.add(d)
	if d.Action == topology.Resolve {
		k.giveUp(r, err)
		return
	}
	k.tries = k.tries.After(d)
	k.spec.Avoid = nil
	if d.MasterOnly {
		k.spec.Replicas = false
	}
	switch d.Action {
	case topology.FollowMoved, topology.FollowAsk:
		k.sendToTarget(r, err, d)
	case topology.RetryElsewhere:
		k.spec.Avoid = k.link
		k.retryAfter(r, err, pause.Around(d.Wait))
	case topology.Repeat:
		k.retryAfter(r, err, pause.Around(d.Wait))
	case topology.AwaitMigration:
		k.retryAfter(r, err, d.Wait)
	}
}

// learn has the topology read again if it may be out of date, and so may connections.
func (k *retrier) learn(d topology.Decision) {
	if d.MasterOnly {
		k.link.Node.Refused.Store(true)
	}
	if d.Refresh {
		k.c.ForceReloading()
	}
}

// giveUp resolves it with an error, which does not say "not sent" if an earlier
// one left that unknown.
func (k *retrier) giveUp(r retryable, err *errorx.Error) {
	if k.unknown != nil && err.HasTrait(redis.ErrTraitNotSent) {
		err = k.unknown
	}
	r.fail(err)
}

// sendToTarget sends it to where a redirect leads. An address that the topology
// does not have is looked for once more after a refresh: nothing is ever sent, and
// no password, to a host that only a redirect named. If too many wait for that,
// it ends with err.
func (k *retrier) sendToTarget(r retryable, err *errorx.Error, d topology.Decision) {
	if d.Host == "" {
		d.Host = k.link.Node.Host()
	}
	addr := net.JoinHostPort(d.Host, strconv.Itoa(d.Port))
	if n := k.c.topology.Load().Find(addr); n != nil {
		k.sendToNode(r, n, d.Action == topology.FollowAsk)
		return
	}
	if !k.mayWait() {
		k.giveUp(r, err)
		return
	}
	k.countIn(&k.c.waiting)
	refresher := k.c.refresher
	wake := orCancelled(r, func() {
		defer k.c.recovered()
		n := k.c.topology.Load().Find(addr)
		if n == nil || d.Action == topology.FollowAsk || k.c.closed.Load() || r.Cancelled() != nil {
			k.resume(r) // ASK holds when it is said, and not after a wait
			return
		}
		k.sendToNode(r, n, false)
	})
	refresher.afterRefresh(wake) // r may be in other hands
}

func (k *retrier) sendToNode(r retryable, n *route.Node, asking bool) {
	l := n.Pick(k.spec.Seed, nil)
	switch {
	case asking && (l == nil || !l.Up()): // ASK may be over when it is up
		k.act(r, k.c.errNoLink(k.spec), topology.WhileMigrating(k.tries, k.c.limits))
		return
	case l == nil:
		k.handleError(r, k.c.errNoLink(k.spec))
		return
	}
	k.follow(r, l, k.enter(l), asking)
}

// maxWaiting bounds the requests that wait for another attempt, so that callers that
// keep sending to a shard that is gone do not fill the memory: 16 MB with small arguments.
const maxWaiting = 1 << 16

// mayWait reports whether one more request may wait.
func (k *retrier) mayWait() bool {
	return k.counter == &k.c.waiting || k.c.waiting.Load() < maxWaiting
}

// retryAfter dispatches it again after a pause, which ends when there are other masters, or
// ends it with err if too many wait.
func (k *retrier) retryAfter(r retryable, err *errorx.Error, wait time.Duration) {
	switch {
	case wait <= 0:
		k.dispatch(r)
		return
	case !k.mayWait():
		k.giveUp(r, err)
		return
	}
	k.countIn(&k.c.waiting)
	sameMasters := k.c.topology.Load().SameMasters
	wake := orCancelled(r, func() {
		defer k.c.recovered()
		k.resume(r)
	})
	stop := context.AfterFunc(sameMasters, wake) // r may be in other hands
	time.AfterFunc(wait, func() {
		stop()
		wake()
	})
}

// orCancelled returns what ends a wait of r with a call of resume. It is called once:
// when r's context ends too, so that it is noticed that nobody waits.
func orCancelled(r retryable, resume func()) (wake func()) {
	resume = sync.OnceFunc(resume)
	ctx := wire.ContextOf(r)
	if ctx.Done() == nil {
		return resume
	}
	stop := context.AfterFunc(ctx, resume)
	return func() {
		stop()
		resume()
	}
}

// resume dispatches it after a pause, in which its caller may have gone.
func (k *retrier) resume(r retryable) {
	switch err := r.Cancelled(); {
	case err == nil:
		k.dispatch(r)
	case k.unknown != nil:
		k.giveUp(r, redis.ErrRequestCancelled.Wrap(err, "cancelled between two attempts, of which one may have run"))
	default: // it was refused, or was not sent at all
		k.giveUp(r, redis.ErrRequestWithdrawn.Wrap(err, "cancelled between two attempts, of which none has run"))
	}
}
