package rediscluster

import (
	"math/rand/v2"
	"sync"
	"time"

	"github.com/joomcode/redispipe/rediscluster/redisclusterutil"
)

const (
	// Refreshes that were not due by CheckInterval keep this distance, which
	// doubles while they find nothing new. At the most that, with the probes in
	// between, a cluster of six nodes gets 15 commands in a second, and one of
	// sixteen masters 22.
	forcedFirst = 50 * time.Millisecond
	forcedMost  = 2 * time.Second
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
		open, told := r.pause(pause-time.Since(began), changed || !news)
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

// hostname is what TLS is to verify for addr, if that is not its own host: what the
// nodes tell, or the host of a seed that is the same address.
func (r *refresher) hostname(l *layout, addr string, seeds func() map[string]string) string {
	if hostname := l.hostnames[addr]; hostname != "" || !r.c.opts.HostOpts.TLSEnabled || !redisclusterutil.IsIPAddress(addr) {
		return hostname
	}
	return seeds()[addr]
}
