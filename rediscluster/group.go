package rediscluster

import (
	"context"
	"time"
)

const (
	// startTimeout is how long a master is waited for that nobody knows yet, if the
	// context has no deadline: some failovers, and no more than a caller expects of a
	// constructor.
	startTimeout = 5 * time.Second
	// startFirst is the pause between two rounds of questions meanwhile. It doubles up
	// to startMost, so that a long wait is no load.
	startFirst = 50 * time.Millisecond
	startMost  = time.Second
)

// startWait is the time that a constructor has to find a master.
type startWait struct {
	context.Context
	pause time.Duration
}

// newStartWait begins to wait until ctx is done, or for startTimeout if it has no
// deadline. Cancel it.
func newStartWait(ctx context.Context) (*startWait, context.CancelFunc) {
	timeout := startTimeout
	if deadline, bounded := ctx.Deadline(); bounded {
		timeout = time.Until(deadline)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	return &startWait{ctx, startFirst}, cancel
}

// again waits for the next round, no longer than until news come, and returns false if
// there is no time left.
func (w *startWait) again(news <-chan struct{}) bool {
	timer := time.NewTimer(w.pause)
	defer timer.Stop()
	w.pause = min(2*w.pause, startMost)
	select {
	case <-timer.C:
	case <-news:
	case <-w.Done():
	}
	return w.Err() == nil
}

// askReplicas has the replicas tell how their replication goes. It does not wait.
func (c *Cluster) askReplicas() {
	for _, n := range c.topology.Load().nodes {
		if !n.replica {
			continue
		}
		for _, l := range n.links {
			if l.state.Load() == linkUp {
				n.askSync(l.conn, nil)
				break
			}
		}
	}
}
