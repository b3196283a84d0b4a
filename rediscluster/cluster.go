package rediscluster

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/wire"
	"github.com/joomcode/redispipe/redis"
)

// Cluster is a Redis Cluster. Requests go to the node that serves the slot of
// their keys. It implements redis.Sender and is safe for concurrent use.
type Cluster struct {
	opts   Opts
	limits limits
	// sharded is false without a cluster: one shard has all keys.
	sharded bool

	ctx    context.Context
	cancel context.CancelFunc

	topology  atomic.Pointer[topology]
	refresher *refresher

	latencyOriented atomic.Bool
	minLatency      atomic.Bool

	// corrected are the options of connections that were reported as corrected.
	corrected sync.Map

	counts   statCounters
	draining atomic.Bool  // no new requests
	closed   atomic.Bool  // no attempts
	waiting  atomic.Int64 // requests that wait for their next attempt
	// moves counts the requests that went from one counter to another: see
	// retrier.countIn.
	moves atomic.Uint64
}

// ClusterHandle is what Handle of a cluster's connections returns.
type ClusterHandle struct {
	// Handle is Opts.Handle.
	Handle any
	// Address is the node's.
	Address string
	// N is the number of the connection among those of the node.
	N int
}

var _ redis.Sender = (*Cluster)(nil)

// NewCluster makes a Cluster. It asks all of addrs (host:port) for the slots; one
// answer is enough. The cluster lives until Close, or until ctx is done.
//
// If none answers, the error is that of the last one, or one that will not pass by
// itself (trait [redisconn.ErrTraitInitPermanent]: wrong password, TLS failure).
// Addresses that can't be used are reported by [LogInitialNodeSkipped].
func NewCluster(ctx context.Context, addrs []string, opts Opts) (*Cluster, error) {
	return newCluster(ctx, addrs, opts, func(c *Cluster) source {
		c.sharded = true
		return &nodeSource{c: c, seeds: slices.Clone(addrs)}
	})
}

// newCluster makes a Cluster with the source of its topology.
func newCluster(ctx context.Context, addrs []string, opts Opts, from func(*Cluster) source) (*Cluster, error) {
	if ctx == nil {
		return nil, redis.ErrContextIsNil.New("context is nil")
	}
	if len(addrs) == 0 && opts.Addrs == nil {
		return nil, redis.ErrNoAddressProvided.New("no address is given")
	}
	if opts.Name == "" {
		opts.Name = addrs[0]
	}
	given := opts
	opts = given.withDefaults()
	c := &Cluster{opts: opts, limits: limits{opts.MovedRetries, opts.WaitToMigrate}}
	c.latencyOriented.Store(opts.LatencyOrientedRR)
	c.minLatency.Store(opts.ForceMinLatencyReplica)
	c.ctx, c.cancel = context.WithCancel(ctx)
	c.topology.Store(newTopology(&layout{slots: noSlots()}, nil)) // a logger may call already
	c.refresher = newRefresher(c, from(c))
	for _, event := range corrections(given, opts) {
		c.report(event)
	}
	if err := c.refresher.start(); err != nil {
		c.Close()
		c.refresher.release(true)
		return nil, err
	}
	context.AfterFunc(c.ctx, c.ended)
	go c.refresher.run()
	return c, nil
}

// Close ends the cluster. Requests that are not written end with
// [redis.ErrContextClosed], those in flight with [redis.ErrIO]. It does not wait.
func (c *Cluster) Close() {
	c.draining.Store(true)
	c.closed.Store(true)
	c.cancel()
}

// ended is called once, when the context has ended.
func (c *Cluster) ended() {
	c.Close()
	c.report(LogContextClosed{Error: context.Cause(c.ctx)})
}

// Ctx returns the context of the cluster; it ends with the cluster.
func (c *Cluster) Ctx() context.Context { return c.ctx }

// Name returns Opts.Name.
func (c *Cluster) Name() string { return c.opts.Name }

// Handle returns Opts.Handle.
func (c *Cluster) Handle() any { return c.opts.Handle }

// String implements fmt.Stringer.
func (c *Cluster) String() string { return fmt.Sprintf("*rediscluster.Cluster{name: %s}", c.opts.Name) }

// GoString implements fmt.GoStringer, so that %#v does not show the password in the
// options.
func (c *Cluster) GoString() string { return c.String() }

// ForceReloading makes the topology be read again soon. It does not wait.
func (c *Cluster) ForceReloading() { c.refresher.force() }

// SetLatencyOrientedRR changes Opts.LatencyOrientedRR, with the next refresh.
func (c *Cluster) SetLatencyOrientedRR(v bool) {
	c.latencyOriented.Store(v)
	c.refresher.force()
}

// SetForceMinLatencyReplica changes Opts.ForceMinLatencyReplica.
func (c *Cluster) SetForceMinLatencyReplica(v bool) { c.minLatency.Store(v) }

// Send implements redis.Sender, with the policy MasterOnly. A request without
// keys goes to any master.
func (c *Cluster) Send(req Request, cb Future, n uint64) { c.send(MasterOnly, req, cb, n) }

// SendWithPolicy is Send with a policy.
func (c *Cluster) SendWithPolicy(policy ReplicaPolicyEnum, req Request, cb Future, n uint64) {
	c.send(policy, req, cb, n)
}

// SendMany implements redis.Sender. The requests to one shard go out as one batch. They
// keep their order, except for those that have to be sent again while slots or masters
// change; between shards there is no order. If one of the requests is malformed, none
// is sent.
func (c *Cluster) SendMany(reqs []Request, cb Future, start uint64) {
	c.sendMany(MasterOnly, reqs, cb, start)
}

// SendTransaction implements redis.Sender. All keys have to be of one slot. Without
// requests nothing is sent, and cb is resolved at once with an empty array.
func (c *Cluster) SendTransaction(reqs []Request, cb Future, start uint64) {
	c.sendTransaction(MasterOnly, reqs, cb, start)
}

// SendEncoded is for package redis.
func (c *Cluster) SendEncoded(r *wire.Request, cb Future, n uint64) {
	c.sendEncoded(MasterOnly, r, cb, n)
}

// TakesEncoded is for package redis: a decorator does not get SendEncoded by
// embedding the cluster.
func (c *Cluster) TakesEncoded(held redis.Sender) (takes, wantsSlot bool) {
	_, own := held.(*Cluster)
	return own, true
}

// WithPolicy returns a Sender with a policy of its own.
func (c *Cluster) WithPolicy(policy ReplicaPolicyEnum) PolicyMan {
	return PolicyMan{Cluster: c, Policy: policy}
}

// PolicyMan is a Cluster with a policy other than MasterOnly.
type PolicyMan struct {
	*Cluster
	Policy ReplicaPolicyEnum
}

var _ redis.Sender = PolicyMan{}

// Send implements redis.Sender.
func (p PolicyMan) Send(req Request, cb Future, n uint64) { p.send(p.Policy, req, cb, n) }

// SendMany implements redis.Sender; see Cluster.SendMany.
func (p PolicyMan) SendMany(reqs []Request, cb Future, start uint64) {
	p.sendMany(p.Policy, reqs, cb, start)
}

// SendTransaction implements redis.Sender. It goes to a replica only with a
// policy that forces it.
func (p PolicyMan) SendTransaction(reqs []Request, cb Future, start uint64) {
	p.sendTransaction(p.Policy, reqs, cb, start)
}

// SendEncoded is for package redis.
func (p PolicyMan) SendEncoded(r *wire.Request, cb Future, n uint64) {
	p.sendEncoded(p.Policy, r, cb, n)
}

// TakesEncoded is for package redis: see Cluster.TakesEncoded.
func (p PolicyMan) TakesEncoded(held redis.Sender) (takes, wantsSlot bool) {
	_, own := held.(PolicyMan)
	return own, true
}

// askTimeout bounds how long nodes are waited for that are asked for slots.
func (c *Cluster) askTimeout() time.Duration {
	// What redisconn takes IOTimeout to be if it is not set.
	const ioTimeout = time.Second
	if c.opts.HostOpts.IOTimeout > 0 {
		return c.opts.HostOpts.IOTimeout
	}
	return ioTimeout
}

// withCluster adds the cluster to an error.
func (c *Cluster) withCluster(err *errorx.Error) *errorx.Error {
	return err.WithProperty(EKCluster, c).WithProperty(EKClusterName, c.opts.Name)
}

// errClosed is what requests get after Close.
func (c *Cluster) errClosed() *errorx.Error {
	return c.withCluster(redis.ErrContextClosed.New("cluster is closed"))
}
