package rediscluster

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/joomcode/redispipe/rediscluster/internal/route"
	"github.com/joomcode/redispipe/redisconn"
)

// Stats are the statistics of a cluster since it was created. The
// statistics of each connection are consistent, but they are taken one after the other.
type Stats struct {
	// Total is the sum of all connections, including closed ones. A request that is
	// redirected or retried counts once for each attempt.
	Total redisconn.Stats
	// Nodes are the nodes of the topology, sorted by address.
	Nodes []NodeStats

	// Moved and Asked count the redirects that the cluster followed; Migrating counts retries
	// because keys were moving, and Retries counts retries for other reasons, including that a
	// node's queue refused a request.
	Moved, Asked, Migrating, Retries uint64
	// Hedged counts the reads that were sent to a second node early, because of Opts.Hedge.
	Hedged uint64
	// Refreshes counts how often the cluster has read the topology.
	Refreshes uint64
	// Waiting is the number of requests that wait for their next attempt.
	Waiting int
}

// NodeStats are the statistics of a node in one of the two roles.
type NodeStats struct {
	Addr    string
	Replica bool
	// Slots are the slots that the node serves, or whose master it replicates, in ascending order. They are
	// empty without a cluster.
	Slots []SlotRange
	// Conns are the statistics of the node's connections, in the order of ClusterHandle.N.
	Conns []redisconn.Stats
}

// SlotRange is the slots from From to To, both included.
type SlotRange struct{ From, To int }

// String returns the range as servers write it, such as "0-5460" or "7".
func (r SlotRange) String() string {
	if r.From == r.To {
		return strconv.Itoa(r.From)
	}
	return fmt.Sprintf("%d-%d", r.From, r.To)
}

// Stats returns a snapshot. It takes a few microseconds for each connection. To publish it with
// package expvar:
//
//	expvar.Publish("redis", expvar.Func(func() any { return cluster.Stats() }))
func (c *Cluster) Stats() Stats {
	if !c.opened() {
		return Stats{}
	}
	s := Stats{
		Moved:     c.decisions[actFollowMoved].Load(),
		Asked:     c.decisions[actFollowAsk].Load(),
		Migrating: c.decisions[actAwaitMigration].Load(),
		Retries:   c.decisions[actElsewhere].Load() + c.decisions[actAnotherNode].Load() + c.decisions[actRepeat].Load(),
		Refreshes: c.refreshes.Load(),
		Waiting:   int(c.waiting.Load()),
		Hedged:    c.rules.Hedged.Load(),
	}
	links, closed := c.refresher.linksAndClosed()
	s.Total.Merge(closed)
	seen := make(map[*route.Node]bool)
	t := c.topology.Load()
	var slots map[*route.Node][]SlotRange
	if c.rules.Sharded {
		slots = slotsOf(t)
	}
	for _, n := range t.Nodes {
		if seen[n] || n.Addr == "" { // without an address, the node takes the place of a missing master
			continue
		}
		seen[n] = true
		node := NodeStats{Addr: n.Addr, Replica: n.Replica, Slots: slots[n]}
		for _, l := range n.Links {
			stats := l.Conn.Stats()
			node.Conns = append(node.Conns, stats)
			s.Total.Merge(stats)
			delete(links, l)
		}
		s.Nodes = append(s.Nodes, node)
	}
	for l := range links { // of nodes that have left
		s.Total.Merge(l.Conn.Stats())
	}
	slices.SortFunc(s.Nodes, func(a, b NodeStats) int { return strings.Compare(a.Addr, b.Addr) })
	return s
}

// slotsOf returns the slots of each node.
func slotsOf(t *route.Snapshot) map[*route.Node][]SlotRange {
	slots := make(map[*route.Node][]SlotRange)
	all := &t.Layout.Slots
	for from := 0; from < len(all); {
		to := from
		for to+1 < len(all) && all[to+1] == all[from] {
			to++
		}
		if shard := t.Shard(from); shard != nil {
			for _, n := range shard.Nodes {
				slots[n] = append(slots[n], SlotRange{from, to})
			}
		}
		from = to + 1
	}
	return slots
}
