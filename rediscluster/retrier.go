package rediscluster

import (
	"context"
	"net"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/lifetime"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster/internal/route"
	"github.com/joomcode/redispipe/redisconn"
)

// retryable can be sent several times: it is an attempt, a transaction, or a sessionConn, which only
// chooses a node when it is "sent". No code may touch a retryable after it was sent or resolved,
// because another goroutine may be using it, or it may have been recycled.
type retryable interface {
	// sendTo sends the retryable over the connection, after ASKING if asking is set.
	sendTo(conn *redisconn.Connection, asking bool)
	// fail resolves the retryable with an error.
	fail(err *errorx.Error)
	// nature decides, for a given error, whether the request may be sent again.
	nature() send.Nature
	// Cancelled returns an error if nobody waits for the result any more.
	Cancelled() error
}

// retrier sends its request until the request is resolved. It counts the attempts, and carries out the
// decisions of redirect.
type retrier struct {
	c       *Cluster
	request retryable // the request; its type embeds this retrier
	spec    routeSpec
	tries   tries
	// link is the link on which the request was last sent, or is about to be sent.
	link *route.Link
	// accepted and blocked are set while the counters of Cluster count the request.
	accepted, blocked bool
	// holds counts how often the request was held back: see maxHolds.
	holds uint8
	// failed is the time of the first failure.
	failed   time.Time
	attempts errs.Attempts
}

// enter reports whether the cluster accepts the retryable. If l is not nil, enter records that the
// retryable will be sent on l. The first time, it counts the retryable before it reads draining,
// so that either Shutdown waits for the retryable or enter refuses it.
func (k *retrier) enter(l *route.Link) (open bool) {
	first := !k.accepted
	if first {
		k.accepted = true
		k.c.accepted.Add(1)
		if k.blocked = k.spec.blocks; k.blocked {
			k.c.blocked.Add(1)
		}
	}
	if l != nil {
		k.link = l
	}
	return !k.c.closed.Load() && !((first || k.spec.blocks) && k.c.draining.Load())
}

// leave stops counting the retryable, because it is resolved.
func (k *retrier) leave() {
	if k.accepted {
		k.accepted = false
		k.c.accepted.Add(-1)
		if k.blocked {
			k.blocked = false
			k.c.blocked.Add(-1)
		}
	}
}

// dispatch routes the request by the present topology, and sends it.
func (k *retrier) dispatch() {
	l := k.c.topology.Load().Route(&k.spec.Spec)
	k.follow(l, k.enter(l), false)
}

// follow carries out the decision of enter: it sends the request on l, or fails it if the cluster is not
// open. If l is nil, the request fails, or waits if it is a message that must not be published yet.
func (k *retrier) follow(l *route.Link, open, asking bool) {
	switch {
	case !open:
		k.giveUp(k.c.errClosed())
	case l != nil:
		k.request.sendTo(l.Conn, asking)
	default:
		err := k.c.errNoLink(k.spec)
		if wait := k.c.topology.Load().HoldsBack(k.spec.Slot); k.spec.Publishes && wait > 0 && k.holds < maxHolds {
			k.holds++
			k.retryAfter(err, wait)
			return
		}
		k.handleError(err)
	}
}

// maxHolds bounds how often a message is held back because the master of its slot has changed
// again. After that the message fails as if no node were connected.
const maxHolds = 10

// handleError decides what to do after an error, and does it.
func (k *retrier) handleError(err *errorx.Error) {
	if k.c.closed.Load() {
		k.giveUp(err)
		return
	}
	if k.failed.IsZero() {
		k.failed = time.Now()
	}
	k.tries.Elapsed = time.Since(k.failed)
	k.tries.Waiting = k.c.waiting.Load()
	k.tries.OnReplica = k.link != nil && k.link.Node.Replica
	k.attempts.Failed(err)
	k.act(err, redirect(err, k.tries, k.request.nature(), k.c.limits))
}

// act carries out the decision after an error.
func (k *retrier) act(err *errorx.Error, d decision) {
	k.learn(err, d)
	var another *route.Link
	if d.Action == actAnotherNode {
		if another = k.another(); another == nil {
			d.Action = actResolve
		}
	}
	k.c.decisions[d.Action].Add(1)
	if d.Action == actResolve {
		k.giveUp(err)
		return
	}
	if caller := send.CallerOf(k.request); caller != nil {
		// A deaf caller (see package redis) waits until a queue tells it to listen to its context.
		// While the request waits for its next attempt it is in no queue, and the next link's queue
		// may not tell the caller either.
		caller.Listen()
	}
	k.tries = k.tries.After(d)
	if another != nil {
		k.follow(another, k.enter(another), false)
		return
	}
	k.spec.Avoid = nil
	if d.MasterOnly {
		k.spec.Replicas = false
	}
	switch d.Action {
	case actFollowMoved, actFollowAsk:
		k.sendToTarget(err, d)
	case actElsewhere:
		k.spec.Avoid = k.link
		k.retryAfter(err, lifetime.Jitter(d.Wait))
	case actRepeat:
		k.retryAfter(err, lifetime.Jitter(d.Wait))
	case actAwaitMigration:
		k.retryAfter(err, d.Wait)
	}
}

// another returns a link to another node that may answer the request, whose queue has just refused it.
// It returns nil if there is no node left that has not refused the request.
func (k *retrier) another() *route.Link {
	if k.link == nil {
		return nil
	}
	if k.spec.Full == nil {
		k.spec.Full = k.link.Node
	}
	k.spec.Avoid = k.link
	return k.c.topology.Load().Another(&k.spec.Spec)
}

// learn records that the slot is moving or has left its master, if the error shows it, and asks for a
// refresh if the error shows that the topology, or a connection, may be out of date.
func (k *retrier) learn(err *errorx.Error, d decision) {
	k.learnMove(err)
	if d.MasterOnly && !k.c.rules.Sharded {
		k.link.Node.Refused.Store(true)
	}
	if d.Refresh {
		k.c.ForceReloading()
	}
}

// learnMove records what an error shows about the slot of the request. A session without keys has no
// slot; then learnMove takes the slot from the error. TRYAGAIN names none.
func (k *retrier) learnMove(err *errorx.Error) {
	slot := k.spec.Slot
	if named, known := err.Property(redis.EKSlot); slot < 0 && known {
		slot = int(named.(int64))
	}
	switch {
	case slot < 0:
	case err.IsOfType(redis.ErrAsk), err.IsOfType(redis.ErrTryAgain):
		k.c.rules.Moves.Meet(slot)
	case err.IsOfType(redis.ErrMoved):
		if s := k.c.topology.Load().Shard(slot); s == nil || k.link == nil || !slices.Contains(s.Nodes, k.link.Node) {
			return // the topology has another master by now
		}
		k.c.onLeft.Range(func(_, f any) bool {
			f.(func(int))(slot)
			return true
		})
	}
}

// giveUp resolves the request with an error. If the request may have run in an earlier attempt, its
// outcome is unknown, even if err says that it was not sent.
func (k *retrier) giveUp(err *errorx.Error) { k.request.fail(k.attempts.Result(err)) }

// sendToTarget sends the request to the node that a redirect names. If the topology lacks the address,
// the request goes through the topology after a refresh: the cluster sends nothing, and thus no
// password, to a host that only a redirect named. The same happens if the redirect names the node that
// has answered, because its connections now lead to a different server than its address: the refresh
// replaces them. If the node is not connected, the request goes through the topology later, because the
// redirect may then no longer be valid.
func (k *retrier) sendToTarget(err *errorx.Error, d decision) {
	if d.Host == "" {
		d.Host = k.link.Node.Host()
	}
	n := k.c.topology.Load().Find(net.JoinHostPort(d.Host, strconv.Itoa(d.Port)))
	asking := d.Action == actFollowAsk
	elsewhere := n != nil && n == k.link.Node && !asking
	if elsewhere {
		n.Refused.Store(true)
	}
	if n == nil || elsewhere {
		k.pause(err, k.c.refresher.afterRefresh)
		return
	}
	l := n.Pick(k.spec.Seed, nil)
	if l == nil || asking && !l.Up() {
		k.act(k.c.errNoLink(k.spec), whileMigrating(k.tries, k.c.limits))
		return
	}
	k.follow(l, k.enter(l), asking)
}

// maxWaiting bounds the requests that wait for another attempt, so that callers that keep
// sending to a shard that is down do not fill the memory. With small arguments this many take
// 16 MB.
const maxWaiting = 1 << 16

// retryAfter dispatches the request again after a pause, or earlier if the masters change. If too many
// requests wait, this one ends with err.
func (k *retrier) retryAfter(err *errorx.Error, wait time.Duration) {
	if wait <= 0 {
		if why := k.whyCancelled(); why != nil {
			k.giveUp(k.errLeft(why))
			return
		}
		k.dispatch()
		return
	}
	sameMasters := k.c.topology.Load().SameMasters
	k.pause(err, func(wake func()) {
		stop := context.AfterFunc(sameMasters, wake)
		time.AfterFunc(wait, func() {
			stop()
			wake()
		})
	})
}

// pause gives begin a function wake, and resumes the request once: when wake is called or the caller's
// context ends. If too many requests wait, it fails this one with err instead.
func (k *retrier) pause(err *errorx.Error, begin func(wake func())) {
	if k.c.waiting.Load() >= maxWaiting {
		k.giveUp(err)
		return
	}
	p := new(pausing)
	wake := func() {
		if p.over.Swap(true) {
			return
		}
		defer k.c.recovered()
		k.c.waiting.Add(-1)
		k.resume(p)
	}
	if !k.spec.blocks && !k.attempts.MayHaveRun() {
		send.Queued(k.request, send.Ticket{Queue: p})
	}
	k.c.waiting.Add(1)
	// From here on another goroutine may use the request, and k with it.
	if ctx := send.ContextOf(k.request); ctx.Done() != nil {
		resume, stop := wake, context.AfterFunc(ctx, wake)
		wake = func() {
			stop()
			resume()
		}
	}
	begin(wake)
}

// pausing takes the place of the queue in a request's ticket during a pause, if no attempt may have
// run. It lets a caller that leaves before the next attempt know that the request will not run.
type pausing struct {
	over atomic.Bool
	// decided is set by the caller when it leaves, or by resume before the next attempt, whichever
	// comes first. If the caller set it, there is no further attempt.
	decided atomic.Bool
}

// Withdraw implements send.Withdrawer.
func (*pausing) Withdraw(uint64) bool { return false }

// Unsent reports whether the request will not run. Package redis calls it once, after the request's
// caller has left.
func (p *pausing) Unsent() bool { return !p.decided.Swap(true) }

// resume dispatches the request after a pause, unless its caller has left.
func (k *retrier) resume(p *pausing) {
	err := k.whyCancelled()
	if err == nil && p.decided.Swap(true) {
		err = k.whyCancelled() // the caller has just left
	}
	if err == nil {
		k.dispatch()
		return
	}
	k.giveUp(k.errLeft(err))
}

// errLeft returns the error of a request that is not sent again, because nobody waits for it any more.
func (k *retrier) errLeft(why error) *errorx.Error {
	if k.attempts.MayHaveRun() {
		return redis.ErrRequestCancelled.Wrap(why, "cancelled between two attempts; the request may have run")
	}
	return redis.ErrRequestWithdrawn.Wrap(why, "cancelled between two attempts; the request has not run") // every attempt was refused or not sent
}

// whyCancelled returns the reason why nobody waits for the request any more, or nil. If Cancelled of
// the future panics, whyCancelled returns nil.
func (k *retrier) whyCancelled() (why error) {
	k.c.call(func() { why = k.request.Cancelled() })
	return why
}
