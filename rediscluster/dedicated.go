package rediscluster

import (
	"context"
	"net"
	"strconv"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/slot"
	"github.com/joomcode/redispipe/internal/wire"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster/redisclusterutil"
)

// OpenDedicated is for package redis: it lends a connection to the master of keys. If
// last is MOVED, it lends one to the node that MOVED named, if the topology has it.
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
	l := c.topology.Load().route(spec)
	if err := redis.AsErrorx(last); err != nil {
		c.refresher.force()
		if named := c.movedTo(err); named != nil {
			l = named.pick(spec.seed, nil)
		}
	}
	if l == nil {
		c.refresher.force()
		return nil, c.errNoLink(spec)
	}
	return l.conn.OpenDedicated(ctx, keys, nil)
}

// movedTo returns the node that a MOVED names, if it is known.
func (c *Cluster) movedTo(err *errorx.Error) *node {
	if !err.IsOfType(redis.ErrMoved) {
		return nil
	}
	to, _ := err.Property(redis.EKMovedTo)
	endpoint, _ := to.(string)
	host, port, ok := redisclusterutil.ParseEndpoint(endpoint)
	if !ok || host == "" {
		return nil
	}
	return c.topology.Load().find(net.JoinHostPort(host, strconv.Itoa(port)))
}
