package rediscluster

import (
	"sync/atomic"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/wire"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
)

// transaction is MULTI, requests and EXEC on their way, which is always taken
// by all of them. As a future it gets what became of each request, and last
// what EXEC answered.
type transaction struct {
	course
	cb redis.Future
	n  uint64
	// fresh are the caller's requests, which may be used until the first
	// sending; later ones use kept.
	fresh []redis.Request
	kept  []wire.Request
	// refused is the first error with which a request was not queued by the
	// server, and so the reason why EXEC answers EXECABORT.
	refused atomic.Pointer[errorx.Error]
}

// sendTransaction is SendTransaction with a policy.
func (c *Cluster) sendTransaction(policy ReplicaPolicyEnum, reqs []redis.Request, cb redis.Future, n uint64) {
	if len(reqs) == 0 {
		wire.ResolveEmpty(cb, n)
		return
	}
	t := &transaction{course: course{c: c}, cb: cb, n: n, fresh: reqs}
	if err := t.Cancelled(); err != nil {
		t.giveUp(redis.ErrRequestWithdrawn.Wrap(err, "cancelled before it was sent"))
		return
	}
	slot, err := t.keep()
	if err != nil {
		t.giveUp(err)
		return
	}
	t.way = way{slot: slot, policy: policy, replicas: policy.allowsReplica(false), seed: c.opts.RoundRobinSeed}
	t.launch(t)
}

// keep encodes the requests and finds the slot of their keys.
func (t *transaction) keep() (int, *errorx.Error) {
	var buf []byte
	slot := wire.NoSlot
	t.kept = make([]wire.Request, len(t.fresh))
	for i, req := range t.fresh {
		var err error
		if t.kept[i], buf, err = redis.EncodeRequest(buf, req, true); err != nil {
			return 0, redis.ErrBatchFormat.Wrap(err, "request %d of the transaction is malformed", i)
		}
		s := t.kept[i].Slot
		if s == wire.ManySlots || s != wire.NoSlot && slot != wire.NoSlot && s != slot {
			return 0, t.c.withCluster(redis.ErrNoSlotKey.New("the transaction has keys of several slots: give them a common {hash tag}"))
		}
		if s != wire.NoSlot {
			slot = s
		}
	}
	for i := range t.kept {
		if refused := keylessRefusal(&t.kept[i]); slot == wire.NoSlot && refused != nil {
			return 0, t.c.withCluster(refused)
		}
	}
	return slot, nil
}

// sendTo implements passenger.
func (t *transaction) sendTo(l *link, asking bool) {
	flags := redisconn.DoTransaction
	if asking {
		flags |= redisconn.DoAsking
	}
	reqs := t.requests()
	t.fresh = nil
	t.refused.Store(nil)
	l.conn.SendBatchFlags(reqs, t, 0, flags)
}

// requests returns the requests, the caller's own as long as they may be used.
func (t *transaction) requests() []redis.Request {
	if t.fresh != nil {
		return t.fresh
	}
	reqs := make([]redis.Request, len(t.kept))
	for i := range t.kept {
		reqs[i] = decode(&t.kept[i])
	}
	return reqs
}

// Resolve implements redis.Future.
func (t *transaction) Resolve(res any, n uint64) {
	err := redis.AsErrorx(res)
	if n < uint64(len(t.kept)) {
		if err != nil {
			t.refused.CompareAndSwap(nil, err)
		}
		return
	}
	if err == nil {
		t.finish(res)
		return
	}
	if cause := t.refused.Load(); cause != nil && err.IsOfType(redis.ErrExecAbort) &&
		(cause.HasTrait(redis.ErrTraitClusterMove) || cause.HasTrait(redis.ErrTraitTransient)) {
		err = cause
	}
	t.settle(t, err)
}

// Waits implements wire.Caller.
func (t *transaction) Waits() bool { return wire.Waits(t.cb) }

// GiveRead implements wire.Caller.
func (t *transaction) GiveRead(r wire.ReadRight) bool { return wire.GiveRead(t.cb, r) }

// Cancelled implements redis.Future.
func (t *transaction) Cancelled() error {
	if t.cb == nil {
		return nil
	}
	return t.cb.Cancelled()
}

// mayRepeat implements passenger.
func (t *transaction) mayRepeat() bool { return false }

// outlive implements passenger.
func (t *transaction) outlive() { t.fresh = nil }

// giveUp implements passenger.
func (t *transaction) giveUp(err *errorx.Error) {
	if _, named := err.Property(redis.EKRequests); !named {
		err = err.WithProperty(redis.EKRequests, t.requests())
	}
	t.finish(err)
}

func (t *transaction) finish(res any) {
	t.hold(nil)
	if t.cb != nil {
		t.cb.Resolve(res, t.n)
	}
}
