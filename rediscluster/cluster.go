package rediscluster

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/backend"
	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/lifetime"
	"github.com/joomcode/redispipe/internal/redisurl"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster/internal/route"
	"github.com/joomcode/redispipe/rediscluster/internal/topology"
)

// Cluster is a Redis Cluster. Requests go to the node that serves the slot of
// their keys. It implements redis.Sender and is safe for concurrent use.
type Cluster struct {
	nodesHolder // lets redispubsub find the nodes, even if another type embeds the Cluster

	opts   Opts
	limits limits
	rules  route.Rules // all nodes share them

	ctx    context.Context
	cancel context.CancelCauseFunc

	topology atomic.Pointer[route.Snapshot]
	// members are the IDs of the nodes of the cluster: nil without a cluster, empty if they are not
	// known.
	members   atomic.Pointer[map[string]bool]
	refresher *refresher

	routed [ForcePreferSlaves + 1]routed // the cluster with each policy; see with

	latencyOriented atomic.Bool

	// corrected holds the names of the connection options whose correction was reported.
	corrected sync.Map

	// onLeft holds functions. The cluster calls them with each slot that has left its master: see
	// backend.Cluster.
	onLeft sync.Map

	weighing  atomic.Bool // a call of the WeightProvider has not returned yet
	refreshes atomic.Uint64
	decisions [actions]atomic.Uint64 // by Action
	draining  atomic.Bool            // the cluster accepts no new requests
	closed    atomic.Bool            // the cluster starts no further attempts
	waiting   atomic.Int64           // requests that wait for their next attempt

	// accepted counts the unresolved requests. Each request changes it, so fields that are
	// only read are on other cache lines.
	_        [64]byte
	accepted atomic.Int64
	blocked  atomic.Int64 // how many of these requests may block at the server
}

// concurrency returns the number of unresolved requests that do not block at the server.
func (c *Cluster) concurrency() int64 { return c.accepted.Load() - c.blocked.Load() }

// Request is redis.Request.
type Request = redis.Request

// Future is redis.Future.
type Future = redis.Future

// ClusterHandle is the value that Handle of a cluster's connections returns.
type ClusterHandle struct {
	// Handle is Opts.Handle.
	Handle any
	// Address is the node's address.
	Address string
	// N is the index of the connection among those of the node.
	N int
}

// newCluster returns a Cluster that gets its topology from the source that from returns.
func newCluster(ctx context.Context, addrs []string, opts Opts, from func(*Cluster) source) (*Cluster, error) {
	if ctx == nil {
		return nil, errs.NilContext()
	}
	if len(addrs) == 0 && opts.Addrs == nil {
		return nil, redis.ErrNoAddressProvided.New("no address is given")
	}
	if err := checkAddrs(addrs); err != nil {
		return nil, err
	}
	if opts.Name == "" {
		opts.Name = addrs[0]
	}
	given := opts
	opts = given.withDefaults()
	c := &Cluster{opts: opts, limits: limits{MovedRetries: opts.MovedRetries, WaitToMigrate: opts.WaitToMigrate}}
	c.opts.RoundRobinSeed = c.seedOf(opts.RoundRobinSeed)
	c.nodesHolder = backend.HolderOf(&c.routed[MasterOnly])
	for i := range c.routed {
		c.routed[i] = routed{c, ReplicaPolicyEnum(i).spec(c.opts.RoundRobinSeed)}
	}
	c.latencyOriented.Store(opts.LatencyOrientedRR)
	c.rules.InTurn = opts.ConnHostPolicy == ConnHostRoundRobin
	c.rules.Zone, c.rules.AsksZone = opts.Zone, opts.Zone != "" && opts.ZoneOf == nil
	c.rules.Tolerance = opts.ReplicaLinkDownTolerance
	c.rules.RenewPause = opts.HostOpts.ReconnectPauseMax
	c.rules.Budget = send.NewBudget(c.with(MasterOnly), send.BudgetShare)
	if opts.Hedge {
		c.rules.Hedge = send.NewBudget(c.with(MasterOnly), hedgeShare)
	}
	c.rules.Withdrawn = func() { c.accepted.Add(-1) }
	c.rules.Soonest.Store(opts.ForceMinLatencyReplica)
	c.ctx, c.cancel = lifetime.Begin(ctx)
	c.topology.Store(route.New(topology.Empty(), nil)) // first: a logger may already call the cluster
	c.refresher = newRefresher(c, from(c))
	for _, event := range corrections(given, opts) {
		c.report(event)
	}
	if err := c.refresher.start(ctx); err != nil {
		c.Close()
		return nil, err
	}
	context.AfterFunc(c.ctx, c.ended)
	lifetime.Made(c.ctx, ctx, func(why error) { c.report(LogContextOutlived{Error: why}) })
	go c.refresher.run()
	return c, nil
}

// checkAddrs returns an error if an address may hold a password. It must run before addresses are
// passed on or shown.
func checkAddrs(addrs []string) error {
	for i, addr := range addrs {
		if redisurl.MayHoldSecret(addr) {
			return ErrAddressHostname.New("address %d of %d is not host:port: URLs are for ParseURL", i+1, len(addrs))
		}
	}
	return nil
}

// opened reports whether a constructor has returned c. If not, for example because c is nil, requests
// fail unsent, with the error of a nil sender.
func (c *Cluster) opened() bool { return c != nil && c.refresher != nil }

// Close closes the cluster. Requests that were not written fail with
// [redis.ErrContextClosed], not sent; those in flight fail with [redis.ErrIO], and may
// have run. It does not wait. It does nothing if c is nil, because constructors return nil with an error.
func (c *Cluster) Close() {
	if !c.opened() {
		return
	}
	c.draining.Store(true)
	c.closed.Store(true)
	c.cancel(lifetime.ErrClosed)
}

// ended is called once, when the context has ended.
func (c *Cluster) ended() {
	c.Close()
	c.report(LogContextClosed{Error: context.Cause(c.ctx)})
}

// Ctx returns the context of the cluster; it ends with the cluster.
func (c *Cluster) Ctx() context.Context {
	if !c.opened() {
		return lifetime.Ended(errs.NoSender())
	}
	return c.ctx
}

// Name returns Opts.Name.
func (c *Cluster) Name() string {
	if c == nil {
		return ""
	}
	return c.opts.Name
}

// Handle returns Opts.Handle.
func (c *Cluster) Handle() any {
	if c == nil {
		return nil
	}
	return c.opts.Handle
}

// String implements fmt.Stringer.
func (c *Cluster) String() string { return fmt.Sprintf("*rediscluster.Cluster{name: %s}", c.Name()) }

// GoString implements fmt.GoStringer, so that %#v does not show the password in the
// options.
func (c *Cluster) GoString() string { return c.String() }

// ForceReloading makes the cluster read the topology again soon. It returns at once.
func (c *Cluster) ForceReloading() {
	if c.opened() {
		c.refresher.force()
	}
}

// SetLatencyOrientedRR changes Opts.LatencyOrientedRR. It takes effect with the next refresh.
func (c *Cluster) SetLatencyOrientedRR(v bool) {
	if c.opened() {
		c.latencyOriented.Store(v)
		c.refresher.force()
	}
}

// SetForceMinLatencyReplica changes Opts.ForceMinLatencyReplica.
func (c *Cluster) SetForceMinLatencyReplica(v bool) {
	if c.opened() {
		c.rules.Soonest.Store(v)
	}
}

// askTimeout returns how long the cluster waits for nodes that it has asked for slots.
func (c *Cluster) askTimeout() time.Duration {
	// The default of redisconn.Opts.IOTimeout.
	const ioTimeout = time.Second
	if c.opts.HostOpts.IOTimeout > 0 {
		return c.opts.HostOpts.IOTimeout
	}
	return ioTimeout
}

// askNewTimeout is askTimeout for servers that the cluster asks over a new connection.
func (c *Cluster) askNewTimeout() time.Duration {
	return max(c.askTimeout(), c.opts.HostOpts.DialTimeout)
}

// withCluster adds the cluster to an error.
func (c *Cluster) withCluster(err *errorx.Error) *errorx.Error {
	return err.WithProperty(EKCluster, c).WithProperty(EKClusterName, c.opts.Name)
}

// errClosed returns the error of requests after Close.
func (c *Cluster) errClosed() *errorx.Error {
	err := redis.ErrContextClosed.New("cluster is closed")
	if why := lifetime.EndedBy(c.ctx); why != nil {
		err = errs.Because(err, why)
	}
	return c.withCluster(err)
}

// report passes an event to the logger. If the logger panics, the process and the reporting
// goroutine survive.
func (c *Cluster) report(event LogEvent) {
	lifetime.CallUser(func() { c.opts.Logger.Report(c, event) }, func(v any, stack []byte) {
		DefaultLogger{}.Report(c, loggerPanic{Value: v, Stack: stack})
	})
}

// call calls a function of the user's, which may panic or end its goroutine.
func (c *Cluster) call(f func()) { lifetime.CallUser(f, c.panicked) }

// recovered reports a panic of a user's function in a goroutine of the cluster.
func (c *Cluster) recovered() {
	if v := recover(); v != nil {
		c.panicked(v, debug.Stack())
	}
}

func (c *Cluster) panicked(v any, stack []byte) {
	c.report(LogFuturePanic{Value: v, Stack: stack})
}

// userSeed is a user's seed. If it panics, userSeed reports that and returns 0.
type userSeed struct {
	c *Cluster
	RoundRobinSeed
}

// seedOf wraps the user's own kinds of seeds, which may panic, in a userSeed. It returns the library's
// seeds unchanged.
func (c *Cluster) seedOf(given RoundRobinSeed) RoundRobinSeed {
	switch given.(type) {
	case *FairRoundRobinSeed, *TimedRoundRobinSeed:
		return given
	}
	return userSeed{c, given}
}

// Current implements RoundRobinSeed.
func (s userSeed) Current() (n uint32) {
	defer s.c.recovered()
	return s.RoundRobinSeed.Current()
}
