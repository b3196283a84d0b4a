package rediscluster

import (
	"sync/atomic"

	"github.com/joomcode/redispipe/internal/topology"
)

// statCounters are what Stats is made of, beside the connections.
type statCounters struct {
	moved, asked, migrating, retries, refreshes atomic.Uint64
}

// add counts a decision.
func (c *statCounters) add(d topology.Decision) {
	switch d.Action {
	case topology.FollowMoved:
		c.moved.Add(1)
	case topology.FollowAsk:
		c.asked.Add(1)
	case topology.AwaitMigration:
		c.migrating.Add(1)
	case topology.RetryElsewhere, topology.Repeat:
		c.retries.Add(1)
	}
}
