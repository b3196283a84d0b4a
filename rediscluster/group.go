package rediscluster

import (
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
)

const (
	// startTimeout bounds how long a master is waited for that nobody knows yet.
	startTimeout = 5 * time.Second
	// startPause is the pause between two rounds of questions meanwhile.
	startPause = 50 * time.Millisecond
)

// groupLayout is a master with replicas without a cluster: one shard for all slots. An
// empty master is none.
func groupLayout(master string, replicas []string) *layout {
	return &layout{shards: []shardLayout{{master: master, replicas: replicas}}}
}

// because returns the layout, in which requests that need a master end with the reason.
func (l *layout) because(reason *errorx.Error) *layout {
	l.reason = reason
	return l
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

// isPermanent reports whether connecting again will not mend the error.
func isPermanent(err error) bool { return permanentCause(redis.AsErrorx(err)) != nil }

// permanentCause returns the first of an error and its causes that stays, nil if there
// is none.
func permanentCause(err *errorx.Error) *errorx.Error {
	for err != nil {
		if err.HasTrait(redisconn.ErrTraitInitPermanent) {
			return err
		}
		err = errorx.Cast(err.Cause())
	}
	return nil
}
