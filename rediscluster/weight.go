package rediscluster

import "time"

// weigh sets the nodes' shares in reads.
func (c *Cluster) weigh() {
	byLatency := c.latencyOriented.Load()
	for _, s := range c.topology.Load().shards {
		var least time.Duration
		for _, n := range s.nodes {
			if trip := n.latency(); trip > 0 && (least == 0 || trip < least) {
				least = trip
			}
		}
		for _, n := range s.nodes {
			w := c.userWeight(n)
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

// userWeight is what the WeightProvider says, 1 if it says nothing or does not return.
func (c *Cluster) userWeight(n *node) (weight uint64) {
	weight = 1
	provider := c.opts.WeightProvider
	if provider == nil {
		return weight
	}
	c.call(func() {
		for _, host := range []string{n.host(), n.addr} {
			if w, ok := provider.GetWeightByHost(host); ok {
				weight = uint64(w)
				return
			}
		}
	})
	return weight
}
