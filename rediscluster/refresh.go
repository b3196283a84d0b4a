package rediscluster

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/lifetime"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster/internal/route"
	"github.com/joomcode/redispipe/rediscluster/internal/topology"
	"github.com/joomcode/redispipe/rediscluster/redisclusterutil"
	"github.com/joomcode/redispipe/redisconn"
)

const (
	// forcedFirst is the pause after a refresh that found a change. The pause doubles, up to
	// forcedMost, with each requested refresh that finds no change, so that
	// requests that fail again and again do not load the nodes.
	forcedFirst = 50 * time.Millisecond
	forcedMost  = 2 * time.Second
	// probePause is how often the cluster probes one node during a longer pause, while failing
	// requests keep asking for a refresh. A failover may take so long that the pause has
	// grown to forcedMost; with probes, the client still notices the new master soon.
	probePause = 150 * time.Millisecond
)

// refresher is the only goroutine that changes the topology.
type refresher struct {
	c      *Cluster
	source source
	forced chan struct{} // has room for one: it is only a flag
	// news also has room for one: it signals that the source has a new layout.
	news  chan struct{}
	done  chan struct{}   // closed when the goroutine has ended
	turns *lifetime.Turns // each turn ends with a refresh or with the cluster

	// agreed is the time when the source last confirmed the layout in use. Only the
	// goroutine uses it.
	agreed time.Time

	mu     sync.Mutex               // guards the fields below
	open   map[*route.Link]struct{} // all links, from their creation until they are closed
	closed redisconn.Stats          // the sum of the statistics of closed links
}

func newRefresher(c *Cluster, from source) *refresher {
	return &refresher{
		c:      c,
		source: from,
		forced: make(chan struct{}, 1),
		news:   make(chan struct{}, 1),
		done:   make(chan struct{}),
		turns:  lifetime.NewTurns(c.ctx),
		open:   make(map[*route.Link]struct{}),
	}
}

// force asks for a refresh soon. It never waits.
func (r *refresher) force() { lifetime.Wake(r.forced) }

// afterRefresh asks for a refresh. It calls f, in a separate goroutine, after the refresh or
// after the cluster was closed.
func (r *refresher) afterRefresh(f func()) {
	r.turns.After(f)
	r.force()
}

// run is the refresher's goroutine. NewCluster starts it; it ends with the
// cluster's context.
func (r *refresher) run() {
	defer close(r.done)
	unchanged, news := 0, false
	timer := time.NewTimer(r.interval())
	defer timer.Stop()
	for r.c.ctx.Err() == nil {
		due, ask := false, true
		select {
		case <-r.c.ctx.Done():
			return
		case <-timer.C:
			due = true
		case <-r.forced:
		case <-r.news:
			due, ask = true, false
		}
		began := time.Now()
		changed := r.refresh(r.c.ctx, ask)
		timer.Reset(r.interval())
		if unchanged++; changed || due {
			unchanged = 0
		}
		// If a probe found news and the refresh then found none, the next pause has no
		// probes.
		distance := lifetime.DoubledPause(forcedFirst, forcedMost, unchanged)
		news = r.pause(distance-time.Since(began), changed || !news)
	}
}

// interval returns CheckInterval with jitter, so that clients that start at the same time do not
// ask at the same time.
func (r *refresher) interval() time.Duration {
	return r.c.opts.CheckInterval - rand.N(r.c.opts.CheckInterval/10)
}

// pause waits between two refreshes, at most until the cluster is closed. With probing it
// ends early, and returns true, when a probe finds a node that names other masters than the topology.
func (r *refresher) pause(d time.Duration, probing bool) (news bool) {
	until := time.Now().Add(d)
	for probing && r.c.ctx.Err() == nil && time.Until(until) > probePause {
		r.sleep(lifetime.Jitter(probePause))
		if len(r.forced) > 0 && r.source.probe() {
			return true
		}
	}
	r.sleep(time.Until(until))
	return false
}

// sleep waits, at most until the cluster is closed. While it waits, it publishes news of the
// source at once.
func (r *refresher) sleep(d time.Duration) {
	until := time.Now().Add(d)
	for news := true; news; {
		news, _ = lifetime.Pause(r.c.ctx, time.Until(until), r.news)
		if news {
			r.refresh(r.c.ctx, false)
		}
	}
}

// start builds the first topology. It returns an error if ctx ends first.
func (r *refresher) start(ctx context.Context) error {
	making, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(r.c.ctx, cancel)() // a logger may close the cluster
	l, err := r.source.start(making)
	if why := lifetime.Reason(ctx); err != nil && why != nil {
		return redis.Err(errs.Because(redis.AsErrorx(err), why))
	}
	if err != nil {
		return err
	}
	r.publish(making, l)
	// Refresh once more, from all nodes, so that the first requests use the present topology.
	r.refresh(making, true)
	return nil
}

// refresh reads the topology from the source, which asks the servers again if ask is set.
// It reports whether the topology has changed. If ctx ends first, nothing changes.
func (r *refresher) refresh(ctx context.Context, ask bool) (changed bool) {
	r.c.refreshes.Add(1)
	defer func() { r.turns.Next()() }()
	defer r.c.recovered()
	began := time.Now()
	if ask {
		r.c.topology.Load().AskReplicas()
	}
	l := r.source.read(ctx, ask)
	if ctx.Err() != nil {
		return false
	}
	if l == nil {
		r.c.report(LogSlotRangeError{})
		return false
	}
	for slot := range l.Slots {
		if l.OnMove.Has(slot) {
			r.c.rules.Moves.Meet(slot)
		}
	}
	before := r.c.topology.Load()
	changed = r.publish(ctx, l)
	r.c.rules.Moves.Settle(began, func(slot int) bool { return l.Stable.Has(slot) || !before.Layout.SameMaster(l, slot) })
	if ask {
		r.agreed = began
	}
	asking, cancel := context.WithTimeout(ctx, userMost)
	defer cancel()
	r.c.topology.Load().Weigh(r.c.latencyOriented.Load(), func(n *route.Node) uint64 { return r.c.userWeight(asking, n) })
	return changed
}

// userMost bounds how long a refresh waits for ZoneOf for all nodes together, and likewise for the
// WeightProvider. While a refresh waits, the client does not learn of a failover.
const userMost = time.Second

// publish replaces the topology by one built from l. It closes the nodes that the new topology lacks
// or has replaced. ctx bounds only the calls of ZoneOf.
func (r *refresher) publish(ctx context.Context, l *topology.Layout) (changed bool) {
	asking, cancel := context.WithTimeout(ctx, userMost)
	defer cancel()
	before := r.c.topology.Load()
	nodes := make(map[topology.Node]*route.Node, len(before.Nodes))
	for _, n := range before.Nodes {
		nodes[topology.Node{Addr: n.Addr, Replica: n.Replica}] = n
	}
	hosts := sync.OnceValue(r.source.hosts)
	t := route.New(l, func(key topology.Node) *route.Node {
		n := nodes[key]
		if old := n; n == nil || n.Outdated(l.Server, r.c.verified(l, key.Addr)) {
			hostname := r.hostname(l, key.Addr, hosts)
			byAddr := old != nil && hostname == old.Hostname && old.Misnamed()
			if byAddr {
				hostname = ""
			}
			n = r.c.newNode(asking, key.Addr, hostname, key.Replica)
			n.ByAddr = byAddr
			nodes[key] = n
			if old != nil {
				n.Renewed = time.Now()
			}
		}
		n.LearnZone(l.Zones[key.Addr])
		return n
	})
	if before.Equal(t) {
		return false
	}
	t.Follow(before, r.agreed)
	left := before.Links()
	var pending func() int64
	if len(t.Shards) > 1 {
		pending = r.c.concurrency
	}
	for l := range t.Links() {
		l.Backend.SharesCallers(pending)
		delete(left, l)
	}
	r.c.topology.Store(t)
	r.c.rules.Watch.Over(t)
	before.ReplacedBy(t)
	r.closeLeft(left)
	r.c.report(LogTopologyChanged{Masters: t.Layout.Masters()})
	return true
}

// verified returns the hostname in the layout that TLS must verify for addr. It returns "" if the layout
// has none, without TLS, or if the user's TLS configuration names a host.
func (c *Cluster) verified(l *topology.Layout, addr string) string {
	opts := c.opts.HostOpts
	if !opts.TLSEnabled || opts.TLSConfig != nil && opts.TLSConfig.ServerName != "" {
		return ""
	}
	return l.Hostnames[addr]
}

// hostname returns the name that TLS must verify for addr, from the layout or otherwise from
// the source, or "" if that is the host of addr itself.
func (r *refresher) hostname(l *topology.Layout, addr string, hosts func() map[string]string) string {
	if hostname := l.Hostnames[addr]; hostname != "" || !r.c.opts.HostOpts.TLSEnabled || !redisclusterutil.IsIPAddress(addr) {
		return hostname
	}
	return hosts()[addr]
}
