package rediscluster

import (
	"context"
	"net"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/pause"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster/internal/route"
	"github.com/joomcode/redispipe/rediscluster/internal/topology"
	"github.com/joomcode/redispipe/redisconn"
)

// retryable is what can be sent several times: an attempt, a transaction, or a sessionConn, for
// which sending means to choose a node. Nobody may touch it after it was sent or resolved:
// another goroutine may be using it, or it may have been recycled.
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

// retrier sends a retryable until it is resolved. It knows what was tried, and does what
// topology.Redirect decides.
type retrier struct {
	c     *Cluster
	spec  routeSpec
	tries topology.Tries
	// link is where the request is, or was last.
	link *route.Link
	// accepted is set while Cluster.accepted counts the request.
	accepted bool
	// holds counts how often it was held back: see maxHolds.
	holds uint8
	// failed is when it failed first.
	failed time.Time
	// unknown is the first error after which the request may have run.
	unknown *errorx.Error
}

// enter reports whether the cluster accepts the retryable. If l is not nil, enter notes that the
// retryable is to be sent on l. The first time, it counts the retryable before it reads draining,
// so that Shutdown either waits for the retryable or has it refused.
func (k *retrier) enter(l *route.Link) (open bool) {
	first := !k.accepted
	if first {
		k.accepted = true
		k.c.accepted.Add(1)
	}
	if l != nil {
		k.link = l
	}
	return !k.c.closed.Load() && !((first || k.spec.blocks) && k.c.draining.Load())
}

// leave ends the count of a retryable that is resolved.
func (k *retrier) leave() {
	if k.accepted {
		k.accepted = false
		k.c.accepted.Add(-1)
	}
}

// dispatch sends r to the node that the topology says.
func (k *retrier) dispatch(r retryable) {
	l := k.c.topology.Load().Route(&k.spec.Spec)
	k.follow(r, l, k.enter(l), false)
}

// follow does what enter has decided: it sends r on l, refuses r if the cluster is not open, or,
// without a link, treats that as an error. A message that must not be published yet waits until
// it may be.
func (k *retrier) follow(r retryable, l *route.Link, open, asking bool) {
	switch {
	case !open:
		k.giveUp(r, k.c.errClosed())
	case l != nil:
		r.sendTo(l.Conn, asking)
	default:
		err := k.c.errNoLink(k.spec)
		if wait := k.c.topology.Load().HoldsBack(k.spec.Slot); k.spec.Publishes && wait > 0 && k.holds < maxHolds {
			k.holds++
			k.retryAfter(r, err, wait)
			return
		}
		k.handleError(r, err)
	}
}

// maxHolds bounds how often a message is held back because the master of its slot has changed
// once more, so that it does not wait for ever where masters change again and again. Then it ends
// as if no node were connected.
const maxHolds = 10

// handleError decides and does what follows an error.
func (k *retrier) handleError(r retryable, err *errorx.Error) {
	if k.c.closed.Load() {
		k.giveUp(r, err)
		return
	}
	if k.failed.IsZero() {
		k.failed = time.Now()
	}
	k.tries.Elapsed = time.Since(k.failed)
	k.tries.OnReplica = k.link != nil && k.link.Node.Replica
	lost := err.IsOfType(redis.ErrIO)
	if lost && k.unknown == nil {
		k.unknown = err
	}
	k.act(r, err, topology.Redirect(err, k.tries, lost && r.idempotent(), k.c.limits))
}

// act does what was decided after an error.
func (k *retrier) act(r retryable, err *errorx.Error, d topology.Decision) {
	k.learn(err, d)
	k.c.decisions[d.Action].Add(1)
	if d.Action == topology.Resolve {
		k.giveUp(r, err)
		return
	}
	if caller := send.CallerOf(r); caller != nil {
		caller.Listen() // while r waits nobody tells it to, and later not every connection does
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

// learn notes that the slot is on the move, if the error says so, and asks for a refresh if it
// shows that the topology, or a connection, may be out of date.
func (k *retrier) learn(err *errorx.Error, d topology.Decision) {
	k.c.learnMove(k.spec.Slot, err)
	if d.MasterOnly && !k.c.rules.Sharded {
		k.link.Node.Refused.Store(true)
	}
	if d.Refresh {
		k.c.ForceReloading()
	}
}

// learnMove notes that a slot is on the move, if a request to it ended with an error that says so. A
// session may be of no slot: then the error names it, unless it is TRYAGAIN.
func (c *Cluster) learnMove(slot int, err *errorx.Error) {
	if !err.IsOfType(redis.ErrAsk) && !err.IsOfType(redis.ErrTryAgain) {
		return
	}
	if named, known := err.Property(redis.EKSlot); slot < 0 && known {
		slot = int(named.(int64))
	}
	if slot >= 0 {
		c.rules.Moves.Meet(slot)
	}
}

// giveUp resolves r with an error, which is not "not sent" if r may have run in an
// earlier attempt.
func (k *retrier) giveUp(r retryable, err *errorx.Error) {
	if k.unknown != nil && err.HasTrait(redis.ErrTraitNotSent) {
		err = k.unknown
	}
	r.fail(err)
}

// sendToTarget sends r to the node that a redirect names. If the topology lacks the address, r
// is sent by the topology after a refresh: nothing, and no password, is ever sent to a host that
// only a redirect named. The same happens if it is the node that has answered, whose connections
// lead to another server than its address by now: the refresh replaces them. If the node is not
// connected, r is sent by the topology later, when the redirect may no longer be valid.
func (k *retrier) sendToTarget(r retryable, err *errorx.Error, d topology.Decision) {
	if d.Host == "" {
		d.Host = k.link.Node.Host()
	}
	n := k.c.topology.Load().Find(net.JoinHostPort(d.Host, strconv.Itoa(d.Port)))
	asking := d.Action == topology.FollowAsk
	elsewhere := n != nil && n == k.link.Node && !asking
	if elsewhere {
		n.Refused.Store(true)
	}
	if n == nil || elsewhere {
		k.pause(r, err, k.c.refresher.afterRefresh)
		return
	}
	l := n.Pick(k.spec.Seed, nil)
	if l == nil || asking && !l.Up() {
		k.act(r, k.c.errNoLink(k.spec), topology.WhileMigrating(k.tries, k.c.limits))
		return
	}
	k.follow(r, l, k.enter(l), asking)
}

// maxWaiting bounds the requests that wait for another attempt, so that callers that keep
// sending to a shard that is down do not fill the memory. With small arguments they take
// 16 MB.
const maxWaiting = 1 << 16

// retryAfter dispatches r again after a pause, or earlier if the masters change. If too
// many requests wait, r ends with err.
func (k *retrier) retryAfter(r retryable, err *errorx.Error, wait time.Duration) {
	if wait <= 0 {
		k.dispatch(r)
		return
	}
	sameMasters := k.c.topology.Load().SameMasters
	k.pause(r, err, func(wake func()) {
		stop := context.AfterFunc(sameMasters, wake)
		time.AfterFunc(wait, func() {
			stop()
			wake()
		})
	})
}

// pause resumes r once: when wake, which begin gets, is called, or when r's context ends.
// If too many requests wait, it ends r with err instead.
func (k *retrier) pause(r retryable, err *errorx.Error, begin func(wake func())) {
	if k.c.waiting.Load() >= maxWaiting {
		k.giveUp(r, err)
		return
	}
	p := new(pausing)
	wake := func() {
		if p.over.Swap(true) {
			return
		}
		defer k.c.recovered()
		k.c.waiting.Add(-1)
		k.resume(r, p)
	}
	if !k.spec.blocks && k.unknown == nil {
		send.Queued(r, send.Ticket{Queue: p})
	}
	k.c.waiting.Add(1)
	// From here on another goroutine may use r.
	if ctx := send.ContextOf(r); ctx.Done() != nil {
		resume, stop := wake, context.AfterFunc(ctx, wake)
		wake = func() {
			stop()
			resume()
		}
	}
	begin(wake)
}

// pausing is the queue in the ticket of a request of which no attempt has run, during a pause. A
// caller that leaves before the next attempt is begun knows that the request will not run.
type pausing struct {
	over atomic.Bool
	// decided is set by the side that decides: the caller, that there is no other attempt, or resume.
	decided atomic.Bool
}

// Withdraw implements send.Withdrawer.
func (*pausing) Withdraw(uint64) bool { return false }

// Unsent tells package redis that the request will not run. Its caller asks once, after it has left.
func (p *pausing) Unsent() bool { return !p.decided.Swap(true) }

// resume dispatches r after a pause, unless its caller has left meanwhile.
func (k *retrier) resume(r retryable, p *pausing) {
	err := k.whyCancelled(r)
	if err == nil && p.decided.Swap(true) {
		err = k.whyCancelled(r) // it has just left
	}
	switch {
	case err == nil:
		k.dispatch(r)
	case k.unknown != nil:
		k.giveUp(r, redis.ErrRequestCancelled.Wrap(err, "cancelled between two attempts, of which one may have run"))
	default: // it was refused, or not sent at all
		k.giveUp(r, redis.ErrRequestWithdrawn.Wrap(err, "cancelled between two attempts, of which none has run"))
	}
}

// whyCancelled returns why nobody waits for r any more, or nil. If the future panics when it
// is asked, somebody still counts as waiting.
func (k *retrier) whyCancelled(r retryable) (why error) {
	k.c.call(func() { why = r.Cancelled() })
	return why
}
