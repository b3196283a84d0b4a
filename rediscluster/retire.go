package rediscluster

import (
	"context"
	"maps"
	"time"

	"github.com/joomcode/redispipe/internal/route"
)

const (
	// retireDelay is how long a node of a cluster that has left still gets requests: they
	// are of callers who have read the topology before it changed.
	retireDelay = 100 * time.Millisecond
	// owedDelay is how long a node may take to answer what was sent to it, where it gets
	// no requests any more. While a master is paused to be replaced, all callers may wait
	// for it: their writes went on 86 to 106 ms after a promotion was announced when this
	// was 100 ms.
	owedDelay = 50 * time.Millisecond
)

// retire notes links that are to be closed.
func (r *refresher) retire(links []*route.Link) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, l := range links {
		r.retired[l] = struct{}{}
	}
}

// closeRetired closes links that the topology does not have any more, once their
// requests are answered. It returns at once; what it leaves behind ends with the last
// answer, or with the cluster.
func (r *refresher) closeRetired(links []*route.Link) {
	for _, l := range links {
		if r.c.rules.Sharded {
			time.AfterFunc(retireDelay, func() { r.closeWhenIdle(l) })
		} else {
			stopped := l.Inner.StopWrites()
			go r.closeSoon(l, stopped)
		}
	}
}

// closeSoon is closeWhenIdle for a server that may go on as a master beside the one
// that has replaced it: nothing more is written to it, and it has owedDelay to answer. It
// is a goroutine that lasts as long.
func (r *refresher) closeSoon(l *route.Link, stopped <-chan struct{}) {
	ctx, cancel := context.WithTimeout(r.c.ctx, owedDelay)
	defer cancel()
	select {
	case <-stopped:
	case <-ctx.Done():
	}
	if !l.Conn.ConnectedNow() {
		cancel()
	}
	_ = l.Conn.Shutdown(ctx)
	r.forget(l)
}

// closeWhenIdle has the connection take nothing more, which then goes elsewhere,
// and closes it when all is answered.
func (r *refresher) closeWhenIdle(l *route.Link) {
	_ = l.Conn.Shutdown(r.c.ctx)
	r.forget(l)
}

// forget drops a link of which the last answers have gone on.
func (r *refresher) forget(l *route.Link) {
	if l.Pending.Load() > 0 && r.c.ctx.Err() == nil {
		time.AfterFunc(shutdownPoll, func() { r.forget(l) })
		return
	}
	stats := l.Conn.Stats()
	r.mu.Lock()
	delete(r.retired, l)
	r.forgotten.Merge(stats)
	r.mu.Unlock()
}

// shutdownPoll is how often Shutdown looks whether all is answered: it is
// called once, and a request takes longer than this to notice the difference.
const shutdownPoll = 2 * time.Millisecond

// unanswered counts the requests on connections, those of retired nodes included.
func (r *refresher) unanswered() (n int64) {
	for l := range r.links() {
		n += l.Unanswered()
	}
	return n
}

// links returns the links of the topology and of retired nodes.
func (r *refresher) links() map[*route.Link]struct{} {
	links := make(map[*route.Link]struct{})
	for _, node := range r.c.topology.Load().Nodes {
		for _, l := range node.Links {
			links[l] = struct{}{}
		}
	}
	r.mu.Lock()
	maps.Copy(links, r.retired)
	r.mu.Unlock()
	return links
}
