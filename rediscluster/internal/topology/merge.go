package topology

import (
	"maps"
	"net"
	"slices"
	"sort"

	"github.com/joomcode/redispipe/internal/slot"
	"github.com/joomcode/redispipe/rediscluster/redisclusterutil"
)

// claim is a range of slots in one view: the view says that the range's master owns these slots. The
// other fields decide between claims that contradict each other.
type claim struct {
	r *redisclusterutil.SlotsRange
	// epoch is the epoch of the range's master. The greater one wins, as among the nodes themselves.
	epoch uint64
	// own is set if the view is that of the range's master itself, and told if that view also contains
	// CLUSTER NODES, which shows the moving slots.
	own, told bool
}

func (c claim) beats(other claim) bool {
	if other.r == nil || c.epoch != other.epoch {
		return other.r == nil || c.epoch > other.epoch
	}
	return c.own && !other.own
}

// claimOf converts a range to a claim. ok is false if the first node of the range is not a master, which
// happens if the view does not know the master's address. nodes is the result of nodesByAddr.
func (v View) claimOf(r *redisclusterutil.SlotsRange, nodes map[string]*redisclusterutil.InstanceInfo) (c claim, ok bool) {
	if len(r.Addrs) == 0 {
		return c, false
	}
	c = claim{r: r, own: r.Addrs[0] == v.asked}
	n := nodes[r.Addrs[0]]
	if n == nil {
		return c, true
	}
	c.epoch, c.own = n.ConfigEpoch, c.own || n.MySelf
	c.told = n.MySelf
	return c, n.IsMaster()
}

// merge builds a layout from the views of one cluster: for each slot, the claim with the greatest epoch
// wins. It returns nil if no slot has an owner.
func merge(views []View) *Layout {
	// The layout must not depend on the order of the answers.
	views = slices.Clone(views)
	sort.SliceStable(views, func(i, j int) bool { return views[i].asked < views[j].asked })
	l := &Layout{aliases: map[string]string{}, Hostnames: map[string]string{}, Zones: map[string]string{}, Failed: map[string]bool{}}
	var claims [slot.Count]claim
	for _, v := range views {
		nodes := v.nodesByAddr()
		l.learnNodes(v)
		for j := range v.ranges {
			r := &v.ranges[j]
			c, ok := v.claimOf(r, nodes)
			for slot := r.From; ok && slot <= r.To; slot++ {
				if c.beats(claims[slot]) {
					claims[slot] = c
				}
			}
		}
		for _, n := range v.nodes {
			for _, m := range n.Migrating {
				l.OnMove.Add(m.Number)
			}
		}
	}
	for slot, c := range claims {
		if c.told && !l.OnMove.Has(slot) {
			l.Stable.Add(uint16(slot))
		}
	}
	if !l.assign(&claims) {
		return nil
	}
	var nodes redisclusterutil.InstanceInfos
	for _, v := range views {
		nodes = nodes.MergeWith(v.nodes)
	}
	l.addReplicas(nodes)
	l.addOthers(nodes)
	return l
}

// learnNodes records the addresses and hostnames of the nodes.
func (l *Layout) learnNodes(v View) {
	for i := range v.nodes {
		n := &v.nodes[i]
		if n.Hostname == "" || !n.AddrValid() {
			continue
		}
		l.aliases[n.Addr] = alias(n)
		if l.aliases[alias(n)] == "" || !n.Fail { // another node may by now have the name of one that has failed
			l.aliases[alias(n)] = n.Addr
		}
		l.Hostnames[n.Addr], l.Hostnames[alias(n)] = n.Hostname, n.Hostname
	}
	for inner, outer := range v.outer {
		if old := l.aliases[inner]; old == "" || outer < old { // the result must not depend on the order of the answers
			l.aliases[inner] = outer
		}
	}
	for _, r := range v.ranges {
		for addr, named := range r.AddrHostnames {
			l.Hostnames[addr], _, _ = net.SplitHostPort(named)
		}
		maps.Copy(l.Zones, r.AddrZones)
	}
}

// assign builds shards from the winning claims. It returns false if there are none.
func (l *Layout) assign(claims *[slot.Count]claim) bool {
	index := map[string]uint16{}
	var last *redisclusterutil.SlotsRange
	for slot := range claims {
		r := claims[slot].r
		l.Slots[slot] = NoShard
		if r == nil {
			continue
		}
		if r == last { // the same range as the slot before
			l.Slots[slot] = l.Slots[slot-1]
			continue
		}
		last = r
		shard, known := index[r.Addrs[0]]
		if !known {
			shard = uint16(len(l.Shards))
			index[r.Addrs[0]] = shard
			l.Shards = append(l.Shards, Shard{Master: r.Addrs[0]})
		}
		for _, replica := range r.Addrs[1:] {
			if !slices.Contains(l.Shards[shard].Replicas, replica) {
				l.Shards[shard].Replicas = append(l.Shards[shard].Replicas, replica)
			}
		}
		l.Slots[slot] = shard
	}
	return len(l.Shards) > 0
}

// addReplicas adds the replicas that CLUSTER SLOTS leaves out, because nothing was written to the shard
// yet. Whether the client may read from them depends on their own reports.
func (l *Layout) addReplicas(nodes redisclusterutil.InstanceInfos) {
	shards := make(map[string]*Shard, len(l.Shards))
	for i := range l.Shards {
		shards[l.Shards[i].Master] = &l.Shards[i]
	}
	masters, alive := make(map[string]*Shard, len(l.Shards)), make(map[*Shard]bool, len(l.Shards))
	for _, n := range nodes {
		s := shards[n.Addr]
		if s == nil {
			s = shards[l.aliases[n.Addr]]
		}
		if s != nil {
			masters[n.Uuid] = s
			alive[s] = alive[s] || !n.Fail // a node with a new ID leaves its former one behind, as a failed node
		}
	}
	for s, is := range alive {
		if !is {
			l.Failed[s.Master] = true
		}
	}
	for _, n := range nodes {
		s := masters[n.SlaveOf]
		if s == nil || !n.AddrValid() || n.Fail || l.Find(n.Addr) >= 0 {
			continue
		}
		addr := n.Addr
		if n.Hostname != "" && !redisclusterutil.IsIPAddress(s.Master) {
			addr = alias(&n) // the cluster names its masters by hostname, so name the replica in the same way
		}
		s.Replicas = append(s.Replicas, addr)
	}
	for _, s := range l.Shards {
		slices.Sort(s.Replicas)
	}
}

// addOthers adds the masters that are in no shard.
func (l *Layout) addOthers(nodes redisclusterutil.InstanceInfos) {
	for _, n := range nodes {
		if n.IsMaster() && n.AddrValid() && !n.Fail && (n.MySelf || n.Connected) && l.Find(n.Addr) < 0 {
			l.others = append(l.others, n.Addr)
		}
	}
	slices.Sort(l.others)
}
