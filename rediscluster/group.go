package rediscluster

import (
	"github.com/joomcode/errorx"
)

// groupLayout is a master with replicas without a cluster: one shard for all slots. An
// empty master is none.
func groupLayout(master string, replicas []string) *layout {
	return &layout{shards: []shardLayout{{master: master, replicas: replicas}}}
}

// why returns a layout in which requests that need a master end with the reason.
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
