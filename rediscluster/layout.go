package rediscluster

import (
	"maps"
	"net"
	"slices"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/rediscluster/redisclusterutil"
)

// noShard stands in layout.slots for a slot that nobody serves.
const noShard = 0xFFFF

// layout is a cluster by its addresses: which of them serve which slots.
type layout struct {
	slots  [redisclusterutil.NumSlots]uint16 // index in shards, or noShard
	shards []shardLayout
	// others are members of the cluster that serve no slot as masters, as one
	// that slots are about to be moved to.
	others []string
	// aliases are further addresses of the same nodes.
	aliases map[string]string
	// hostnames are known for some of the addresses.
	hostnames map[string]string
	// zones are told for some of the addresses.
	zones map[string]string
	// migrating are the slots on the move.
	migrating map[uint16]struct{}
	// masterOnly are slots that users want to be read from their masters.
	masterOnly map[uint16]struct{}
	// server is the id of the master's run without a cluster, empty if it has not told it.
	server string
	// reason is why a shard has no master: its address is empty then.
	reason *errorx.Error
}

// noSlots are slots that nobody serves.
func noSlots() (slots [redisclusterutil.NumSlots]uint16) {
	for i := range slots {
		slots[i] = noShard
	}
	return slots
}

type shardLayout struct {
	master   string
	replicas []string
}

// view is what one node says about the cluster.
type view struct {
	asked  string // the address that was asked
	ranges []redisclusterutil.SlotsRange
	nodes  redisclusterutil.InstanceInfos // nil where CLUSTER NODES is not allowed
}

// claim is a range with what decides between it and others of the same slot.
type claim struct {
	r *redisclusterutil.SlotsRange
	// epoch is that of the range's master; the greater one counts, as it does
	// among the nodes themselves.
	epoch uint64
	// own: the master itself says so.
	own bool
}

func (c claim) beats(other claim) bool {
	if other.r == nil || c.epoch != other.epoch {
		return other.r == nil || c.epoch > other.epoch
	}
	return c.own && !other.own
}

// withHosts gives addresses without a host that of the node that was asked.
func (v view) withHosts() view {
	host, _, _ := net.SplitHostPort(v.asked)
	name := func(addr string) string {
		if len(addr) > 0 && addr[0] == ':' {
			return net.JoinHostPort(host, addr[1:])
		}
		return addr
	}
	ranges := slices.Clone(v.ranges)
	for i, r := range ranges {
		addrs := slices.Clone(r.Addrs)
		hostnames := make(map[string]string, len(r.AddrHostnames))
		zones := make(map[string]string, len(r.AddrZones))
		for j, addr := range addrs {
			addrs[j] = name(addr)
			if hostname := r.AddrHostnames[addr]; hostname != "" {
				hostnames[addrs[j]] = hostname
			}
			if zone := r.AddrZones[addr]; zone != "" {
				zones[addrs[j]] = zone
			}
		}
		ranges[i].Addrs, ranges[i].AddrHostnames, ranges[i].AddrZones = addrs, hostnames, zones
	}
	nodes := slices.Clone(v.nodes)
	for i, n := range nodes {
		if n.IP == "" && n.Port != 0 {
			nodes[i].IP, nodes[i].Addr = host, name(n.Addr)
		}
	}
	return view{asked: v.asked, ranges: ranges, nodes: nodes}
}

// merge makes a layout of views: of each slot the newest claim counts. It
// returns nil if no slot is served at all.
func merge(views []view) *layout {
	l := &layout{
		aliases: map[string]string{}, hostnames: map[string]string{}, zones: map[string]string{},
		migrating: map[uint16]struct{}{},
	}
	var claims [redisclusterutil.NumSlots]claim
	for i := range views {
		v := views[i].withHosts()
		l.learnNodes(v)
		for j := range v.ranges {
			r := &v.ranges[j]
			if !v.namesMaster(r) {
				continue
			}
			c := v.claimOf(r)
			for slot := r.From; slot <= r.To; slot++ {
				if c.beats(claims[slot]) {
					claims[slot] = c
				}
			}
		}
		v.nodes.CollectAddressesAndMigrations(nil, l.migrating)
		views[i] = v
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

// namesMaster reports whether the range begins with its master, of which the view
// may not know the address.
func (v view) namesMaster(r *redisclusterutil.SlotsRange) bool {
	if len(r.Addrs) == 0 {
		return false
	}
	n := v.node(r.Addrs[0])
	return n == nil || n.IsMaster()
}

// node returns the node of an address, nil if the view has none.
func (v view) node(addr string) *redisclusterutil.InstanceInfo {
	for i := range v.nodes {
		if n := &v.nodes[i]; n.Addr == addr || n.Hostname != "" && alias(n) == addr {
			return n
		}
	}
	return nil
}

// claimOf makes a claim of a range.
func (v view) claimOf(r *redisclusterutil.SlotsRange) claim {
	c := claim{r: r, own: r.Addrs[0] == v.asked}
	if n := v.node(r.Addrs[0]); n != nil {
		c.epoch, c.own = n.ConfigEpoch, c.own || n.MySelf
	}
	return c
}

// alias is the node's address by its hostname.
func alias(n *redisclusterutil.InstanceInfo) string {
	_, port, _ := net.SplitHostPort(n.Addr)
	return net.JoinHostPort(n.Hostname, port)
}

// learnNodes notes by which addresses and hostnames nodes are known.
func (l *layout) learnNodes(v view) {
	for i := range v.nodes {
		n := &v.nodes[i]
		if n.Hostname == "" || !n.AddrValid() {
			continue
		}
		l.aliases[n.Addr], l.aliases[alias(n)] = alias(n), n.Addr
		l.hostnames[n.Addr], l.hostnames[alias(n)] = n.Hostname, n.Hostname
	}
	for _, r := range v.ranges {
		for addr, named := range r.AddrHostnames {
			l.hostnames[addr], _, _ = net.SplitHostPort(named)
		}
		maps.Copy(l.zones, r.AddrZones)
	}
}

// assign makes shards of the claims that won; it returns false if there is none.
func (l *layout) assign(claims *[redisclusterutil.NumSlots]claim) bool {
	index := map[string]uint16{}
	var last *redisclusterutil.SlotsRange
	for slot := range claims {
		r := claims[slot].r
		l.slots[slot] = noShard
		if r == nil {
			continue
		}
		if r == last { // ranges are long
			l.slots[slot] = l.slots[slot-1]
			continue
		}
		last = r
		shard, known := index[r.Addrs[0]]
		if !known {
			shard = uint16(len(l.shards))
			index[r.Addrs[0]] = shard
			l.shards = append(l.shards, shardLayout{master: r.Addrs[0]})
		}
		for _, replica := range r.Addrs[1:] {
			if !slices.Contains(l.shards[shard].replicas, replica) {
				l.shards[shard].replicas = append(l.shards[shard].replicas, replica)
			}
		}
		l.slots[slot] = shard
	}
	return len(l.shards) > 0
}

// addReplicas adds those that CLUSTER SLOTS leaves out since nothing was written
// yet. Whether a replica is read from is for itself to say.
func (l *layout) addReplicas(nodes redisclusterutil.InstanceInfos) {
	shards := make(map[string]*shardLayout, len(l.shards))
	for i := range l.shards {
		shards[l.shards[i].master] = &l.shards[i]
	}
	masters := make(map[string]*shardLayout, len(l.shards))
	for _, n := range nodes {
		if s := shards[n.Addr]; s != nil {
			masters[n.Uuid] = s
		} else if s := shards[l.aliases[n.Addr]]; s != nil {
			masters[n.Uuid] = s
		}
	}
	for _, n := range nodes {
		s := masters[n.SlaveOf]
		if s == nil || !n.AddrValid() || n.Fail || l.has(n.Addr) || l.has(l.aliases[n.Addr]) {
			continue
		}
		addr := n.Addr
		if n.Hostname != "" && !redisclusterutil.IsIPAddress(s.master) {
			addr = alias(&n) // the cluster wants to be called by hostnames
		}
		s.replicas = append(s.replicas, addr)
	}
	for _, s := range l.shards {
		slices.Sort(s.replicas)
	}
}

// addOthers adds the masters that are in no shard.
func (l *layout) addOthers(nodes redisclusterutil.InstanceInfos) {
	for _, n := range nodes {
		if !n.IsMaster() || !n.AddrValid() || n.Fail || !n.MySelf && !n.Connected {
			continue
		}
		if !l.has(n.Addr) && !l.has(l.aliases[n.Addr]) {
			l.others = append(l.others, n.Addr)
		}
	}
	slices.Sort(l.others)
}

// has reports whether an address belongs to a shard.
func (l *layout) has(addr string) bool {
	for _, s := range l.shards {
		if s.master == addr || slices.Contains(s.replicas, addr) {
			return true
		}
	}
	return false
}
