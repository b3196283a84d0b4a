package rediscluster

import (
	"context"
	"net"
	"strconv"
	"strings"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/slot"
	"github.com/joomcode/redispipe/internal/wire"
	"github.com/joomcode/redispipe/redis"
)

// OpenDedicated is for package redis: it lends a connection to the master of keys. If
// last is MOVED or ASK, it lends one to the node that this named, if the topology has it.
func (c *Cluster) OpenDedicated(ctx context.Context, keys []string, last error) (wire.Dedicated, error) {
	if c.draining.Load() {
		return nil, c.errClosed()
	}
	spec := routeSpec{slot: wire.NoSlot, policy: MasterOnly, seed: c.opts.RoundRobinSeed}
	for i, key := range keys {
		s := c.slotOf(&wire.Request{Slot: int(slot.Of(key))})
		if i > 0 && s != spec.slot {
			return nil, c.withCluster(redis.ErrNoSlotKey.New("keys of several slots: give them a common {hash tag}"))
		}
		spec.slot = s
	}
	l := &lent{c: c, spec: spec}
	to, asking := l.redirected(ctx, redis.AsErrorx(last))
	if to == nil {
		to, asking = c.topology.Load().route(spec), false
	}
	if to == nil {
		c.refresher.force()
		return nil, c.errNoLink(spec)
	}
	if err := l.borrow(ctx, to, asking); err != nil {
		return nil, err
	}
	return l, nil
}

// lent is a session's connection. It follows redirects as long as they are all that the
// session has been answered: nothing stands on the connection then. Later they are
// results like others.
type lent struct {
	wire.Dedicated
	c    *Cluster
	spec routeSpec
	hops uint8 // redirects followed
	used bool  // something was not redirected
}

// borrow borrows a connection from a node.
func (l *lent) borrow(ctx context.Context, to *link, asking bool) (err error) {
	l.Dedicated, err = to.conn.OpenDedicatedAsk(ctx, asking)
	if err == nil {
		return nil
	}
	l.c.refresher.force()
	if redis.AsErrorx(err).IsOfType(redis.ErrContextClosed) && !l.c.draining.Load() {
		err = l.c.withCluster(ErrNoAliveConnection.Wrap(err, "the node has just left"))
	}
	l.Dedicated = gone{err}
	return err
}

// gone is in the place of a connection that could not be borrowed.
type gone struct{ why error }

// Exchange implements wire.Dedicated.
func (g gone) Exchange(context.Context, []wire.Request, func(int, any)) error {
	return redis.ErrSessionLost.Wrap(g.why, "the session has no connection: open another one")
}

// Place implements wire.Dedicated.
func (g gone) Place() wire.Place { return wire.Place{} }

// Release implements wire.Dedicated.
func (g gone) Release() {}

// redirected returns the link to where an error leads, or nil if that is nowhere in
// particular, or the topology does not have it, read again if need be.
func (l *lent) redirected(ctx context.Context, err *errorx.Error) (to *link, asking bool) {
	if err == nil {
		return nil, false
	}
	d := redirect(err, tries{hops: l.hops}, false, l.c.limits)
	if d.action != followAsk {
		l.c.refresher.force()
	}
	if d.action != followMoved && d.action != followAsk {
		return nil, false
	}
	l.c.counts.add(d)
	l.hops++
	if d.host == "" { // that of the node which answered
		address, _ := err.Property(redis.EKAddress)
		text, _ := address.(string)
		d.host, _, _ = net.SplitHostPort(text)
	}
	if n := l.c.await(ctx, net.JoinHostPort(d.host, strconv.Itoa(d.port))); n != nil {
		to = n.pick(l.spec.seed, nil)
	}
	return to, d.action == followAsk
}

// await returns the node of an address. If the topology does not have it, it is read
// again before that is nil, unless ctx ends.
func (c *Cluster) await(ctx context.Context, addr string) *node {
	if n := c.topology.Load().find(addr); n != nil {
		return n
	}
	read := make(chan struct{})
	c.refresher.afterRefresh(func() { close(read) })
	select {
	case <-read:
	case <-ctx.Done():
	}
	return c.topology.Load().find(addr)
}

// Exchange implements wire.Dedicated.
func (l *lent) Exchange(ctx context.Context, reqs []wire.Request, each func(int, any)) error {
	for !l.used && len(reqs) > 0 {
		var results []any
		err := l.Dedicated.Exchange(ctx, reqs, func(_ int, res any) { results = append(results, res) })
		moved := redirectOf(reqs, results)
		if moved != nil && err == nil {
			if to, asking := l.redirected(ctx, moved); to != nil {
				l.Dedicated.Release() // first: who holds one and waits for another can wait for ever
				if err := l.borrow(ctx, to, asking); err != nil {
					return err
				}
				continue
			}
		}
		l.used = moved == nil
		for i, res := range results {
			l.note(res)
			each(i, res)
		}
		return err
	}
	return l.Dedicated.Exchange(ctx, reqs, func(i int, res any) {
		l.note(res)
		each(i, res)
	})
}

// note has the topology read again, if a result says that it has changed.
func (l *lent) note(res any) {
	if err, failed := res.(*errorx.Error); failed && redirect(err, tries{}, false, l.c.limits).refresh {
		l.c.refresher.force()
	}
}

// redirectOf returns the first redirect that requests were answered with, if none of
// them has run or changed its connection: a transaction has not if EXEC failed.
func redirectOf(reqs []wire.Request, results []any) (moved *errorx.Error) {
	last := len(reqs) - 1
	transaction := strings.EqualFold(reqs[0].Cmd, "MULTI") && strings.EqualFold(reqs[last].Cmd, "EXEC")
	for i, res := range results {
		err := redis.AsErrorx(res)
		switch {
		case err != nil && (err.IsOfType(redis.ErrMoved) || err.IsOfType(redis.ErrAsk)):
			if moved == nil {
				moved = err
			}
		case transaction && (i < last || err != nil && err.IsOfType(redis.ErrExecAbort)):
		default:
			return nil
		}
	}
	return moved
}
