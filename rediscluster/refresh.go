package rediscluster

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster/redisclusterutil"
)

const (
	// askAtMost bounds how many nodes are asked at once: migrations are told by
	// the two masters concerned only, so most clusters are asked in whole.
	askAtMost = 16
	// askGrace is how long the slower ones are waited for after the first has
	// answered.
	askGrace = 100 * time.Millisecond
	// Refreshes that were not due by CheckInterval keep this distance, which
	// doubles while they find nothing new. At the most that, with the probes in
	// between, a cluster of six nodes gets 15 commands in a second, and one of
	// sixteen masters 22.
	forcedFirst = 50 * time.Millisecond
	forcedMost  = 2 * time.Second

	// retireDelay lets those send who have read the topology before it changed.
	retireDelay = 100 * time.Millisecond
)

// refresher is the only one who changes the topology.
type refresher struct {
	c      *Cluster
	seeds  []string
	forced chan struct{} // has room for one: it is only a mark
	done   chan struct{} // closed when the goroutine has ended

	// Of the goroutine alone: all nodes by address and role, the last set of
	// master-only slots.
	nodes      map[nodeKey]*node
	masterOnly map[uint16]struct{}

	mu      sync.Mutex // guards what follows
	waiting []func()   // to be called after the next refresh
	ended   bool
	retired map[*link]struct{} // of nodes that have left, until they are closed
}

type nodeKey struct {
	addr    string
	replica bool
}

func newRefresher(c *Cluster, seeds []string) *refresher {
	return &refresher{
		c:      c,
		seeds:  seeds,
		forced: make(chan struct{}, 1),
		done:   make(chan struct{}),
		nodes:  make(map[nodeKey]*node),

		retired: make(map[*link]struct{}),
	}
}

// force asks for a refresh soon. It never waits.
func (r *refresher) force() {
	select {
	case r.forced <- struct{}{}:
	default:
	}
}

// afterRefresh has f called, in a goroutine of its own, when the topology was read
// again, or the cluster is closed.
func (r *refresher) afterRefresh(f func()) {
	r.mu.Lock()
	ended := r.ended
	if !ended {
		r.waiting = append(r.waiting, f)
	}
	r.mu.Unlock()
	if ended {
		go f()
		return
	}
	r.force()
}

// release calls those that wait.
func (r *refresher) release(ended bool) {
	r.mu.Lock()
	waiting := r.waiting
	r.waiting, r.ended = nil, r.ended || ended
	r.mu.Unlock()
	for _, f := range waiting {
		go f()
	}
}

// run is the refresher's goroutine. NewCluster starts it; it ends with the
// cluster's context.
func (r *refresher) run() {
	defer close(r.done)
	defer r.release(true)
	pause, news := forcedFirst, false
	timer := time.NewTimer(r.interval())
	defer timer.Stop()
	for {
		due := false
		select {
		case <-r.c.ctx.Done():
			return
		case <-timer.C:
			due = true
		case <-r.forced:
		}
		began := time.Now()
		changed := r.refresh()
		timer.Reset(r.interval())
		if changed || due {
			pause = forcedFirst
		} else {
			pause = min(2*pause, forcedMost)
		}
		// News that came to nothing are not to have all asked again at once.
		open, told := r.rest(pause-time.Since(began), changed || !news)
		if !open {
			return
		}
		news = told
	}
}

// interval is CheckInterval with jitter, so that clients started together do
// not ask together.
func (r *refresher) interval() time.Duration {
	return r.c.opts.CheckInterval - rand.N(r.c.opts.CheckInterval/10)
}

// sleep returns false if the cluster has closed meanwhile.
func (r *refresher) sleep(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.c.ctx.Done():
		return false
	}
}

// refresh reads the topology again, and reports whether it has changed.
func (r *refresher) refresh() (changed bool) {
	defer r.release(false)
	defer r.c.recovered()
	views := r.askNodes()
	if len(views) == 0 {
		views, _ = r.askSeeds()
	}
	if r.c.ctx.Err() != nil {
		return false
	}
	l := merge(views)
	if l == nil {
		r.c.report(LogSlotRangeError{})
		return false
	}
	changed = r.publish(l)
	r.weigh()
	return changed
}

// publish puts a topology made of l in place, and retires the nodes that it
// does not have.
func (r *refresher) publish(l *layout) (changed bool) {
	used := make(map[nodeKey]struct{}, len(r.nodes))
	seeds := sync.OnceValue(r.seedHosts)
	t := newTopology(l, r.masterOnly, func(addr string, replica bool) *node {
		key := nodeKey{addr, replica}
		used[key] = struct{}{}
		if r.nodes[key] == nil {
			r.nodes[key] = r.c.newNode(addr, r.hostname(l, addr, seeds), replica)
		}
		return r.nodes[key]
	})
	if r.c.topology.Load().equal(t) {
		return false
	}
	for key, n := range r.nodes {
		if _, ok := used[key]; !ok {
			delete(r.nodes, key)
			r.retire(n) // before the topology forgets it: Shutdown knows no others
		}
	}
	r.c.topology.Store(t)
	masters := make([]string, len(t.shards))
	for i, s := range t.shards {
		masters[i] = s.master.addr
	}
	r.c.report(LogTopologyChanged{Masters: masters})
	return true
}

// retire closes a node's connections once their requests are answered. It
// returns at once; what it leaves behind ends with the last answer, or with the
// cluster.
func (r *refresher) retire(n *node) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, l := range n.links {
		r.retired[l] = struct{}{}
		time.AfterFunc(retireDelay, func() { r.closeWhenIdle(l) })
	}
}

// closeWhenIdle has the connection take nothing more, which then goes elsewhere,
// and closes it when all is answered.
func (r *refresher) closeWhenIdle(l *link) {
	_ = l.conn.Shutdown(r.c.ctx)
	r.forget(l)
}

// forget drops a link of which the last answers have gone on.
func (r *refresher) forget(l *link) {
	if l.pending.Load() > 0 && r.c.ctx.Err() == nil {
		time.AfterFunc(shutdownPoll, func() { r.forget(l) })
		return
	}
	r.mu.Lock()
	delete(r.retired, l)
	r.mu.Unlock()
}

// hostname is what TLS is to verify for addr, if that is not its own host: what the
// nodes tell, or the host of a seed that is the same address.
func (r *refresher) hostname(l *layout, addr string, seeds func() map[string]string) string {
	if hostname := l.hostnames[addr]; hostname != "" || !r.c.opts.HostOpts.TLSEnabled || !redisclusterutil.IsIPAddress(addr) {
		return hostname
	}
	return seeds()[addr]
}

// seedHosts returns the hosts of the seeds that have a name, by the addresses that
// they resolve to in time.
func (r *refresher) seedHosts() map[string]string {
	ctx, cancel := context.WithTimeout(r.c.ctx, r.c.askTimeout())
	defer cancel()
	type named struct{ addr, host string }
	found := make(chan named, len(r.seeds))
	for _, seed := range r.seeds {
		go func() { // ends with ctx
			host, err := redisclusterutil.GetHost(seed)
			if err != nil || redisclusterutil.IsIPAddress(host) {
				found <- named{}
				return
			}
			addr, _ := lookUp(ctx, seed)
			found <- named{addr, host}
		}()
	}
	hosts := make(map[string]string)
	for range r.seeds {
		if n := <-found; n.addr != "" {
			hosts[n.addr] = n.host
		}
	}
	return hosts
}

// askNodes asks connected nodes what they think, those that answer in time.
func (r *refresher) askNodes() []view {
	t := r.c.topology.Load()
	nodes := slices.Clone(t.nodes)
	rand.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
	// Masters know their own slots best, and first.
	slices.SortStableFunc(nodes, func(a, b *node) int { return boolToInt(a.replica) - boolToInt(b.replica) })
	p := newPoll()
	for _, n := range nodes {
		if l := n.pick(r.c.opts.RoundRobinSeed, nil); l != nil && len(p.asked) < askAtMost {
			p.ask(l)
		}
		if n.replica {
			p.askSync(n)
		}
	}
	if s := t.shard(int(redisclusterutil.Slot(redisclusterutil.MasterOnlyKey))); s != nil {
		p.askMasterOnly(s.master)
	}
	views := p.await(r.c)
	if slots, ok := p.masterOnlySlots(); ok {
		r.masterOnly = slots
	}
	return views
}

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// weigh sets the nodes' shares in reads.
func (r *refresher) weigh() {
	byLatency := r.c.latencyOriented.Load()
	for _, s := range r.c.topology.Load().shards {
		var least time.Duration
		for _, n := range s.nodes {
			if trip := n.latency(); trip > 0 && (least == 0 || trip < least) {
				least = trip
			}
		}
		for _, n := range s.nodes {
			w := r.userWeight(n)
			if trip := n.latency(); byLatency && trip > 0 {
				w *= latencyShare(least, trip)
			}
			n.weight.Store(w)
		}
	}
}

// latencyScale is the share of the node that answers soonest, to which those of
// the others are whole numbers in proportion.
const latencyScale = 100

func latencyShare(least, trip time.Duration) uint64 {
	return max(uint64(latencyScale*least/trip), 1)
}

// userWeight is what the WeightProvider says, 1 if it says nothing or panics.
func (r *refresher) userWeight(n *node) (weight uint64) {
	weight = 1
	provider := r.c.opts.WeightProvider
	if provider == nil {
		return weight
	}
	defer r.c.recovered()
	for _, host := range []string{n.host(), n.addr} {
		if w, ok := provider.GetWeightByHost(host); ok {
			return uint64(w)
		}
	}
	return weight
}

// lookUp resolves the host of an address, no longer than the context lasts.
func lookUp(ctx context.Context, addr string) (string, error) {
	type result struct {
		addr string
		err  error
	}
	got := make(chan result, 1)
	go func() { // ends with the resolver's own time-out
		ip, err := redisclusterutil.Resolve(addr)
		got <- result{ip, err}
	}()
	select {
	case res := <-got:
		if res.err != nil {
			return "", ErrAddressNotResolved.Wrap(res.err, "address is not resolved").WithProperty(redis.EKAddress, addr)
		}
		return res.addr, nil
	case <-ctx.Done():
		return "", redis.ErrContextClosed.Wrap(context.Cause(ctx), "address is not resolved in time")
	}
}
