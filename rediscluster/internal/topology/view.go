package topology

import (
	"net"
	"strconv"

	"github.com/joomcode/redispipe/internal/slot"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster/redisclusterutil"
)

// View is what one node says about the cluster.
type View struct {
	asked  string // the address that was asked
	ranges []redisclusterutil.SlotsRange
	nodes  redisclusterutil.InstanceInfos // nil where CLUSTER NODES is not allowed
	// ids are those of the nodes in ranges, by their addresses.
	ids map[string]string
	// outer are addresses with the host that was asked, by those that nodes have among themselves,
	// if the cluster names no host to clients: these can't reach the latter.
	outer map[string]string
}

// ParseView makes a view of the answers to CLUSTER SLOTS and CLUSTER NODES of the node at
// an address. A user may have no right to CLUSTER NODES: one can do without.
func ParseView(asked string, slots, nodes any) (View, error) {
	ranges, err := redisclusterutil.ParseSlotsInfo(slots)
	if err != nil {
		return View{}, err
	}
	known, _ := redisclusterutil.ParseClusterNodes(nodes)
	v := View{asked: asked, ranges: ranges, nodes: known, ids: idsOf(slots)}
	v.addHosts()
	return v, nil
}

// speaker returns who speaks: without CLUSTER NODES, as far as CLUSTER SLOTS tells it.
func (v View) speaker() (s speaker) {
	for addr, id := range v.ids {
		s.know(id, addr == v.asked)
	}
	for _, n := range v.nodes {
		s.know(n.Uuid, n.MySelf)
	}
	return s
}

// living are the IDs of the nodes that have not failed.
func (v View) living() memory {
	ids := memory{}
	for _, n := range v.nodes {
		if n.MySelf || n.HasAddr() && !n.Fail {
			ids[n.Uuid] = true
		}
	}
	for _, id := range v.ids {
		if v.nodes == nil {
			ids[id] = true
		}
	}
	return ids
}

// addSlots adds the slots that are served.
func (v View) addSlots(slots *SlotSet) {
	for _, r := range v.ranges {
		for slot := r.From; len(r.Addrs) > 0 && slot <= r.To; slot++ {
			slots.Add(uint16(slot))
		}
	}
}

// Whole reports whether all slots are served.
func (v View) Whole() bool {
	var slots SlotSet
	v.addSlots(&slots)
	return slots.len() == slot.Count
}

// addHosts gives addresses without a host that of the node that was asked. CLUSTER NODES has hosts
// even where CLUSTER SLOTS names none to clients. That is so if the latter leaves out several: a
// node may not know its own.
func (v *View) addHosts() {
	host, _, _ := net.SplitHostPort(v.asked)
	name := func(addr string) string {
		if len(addr) > 0 && addr[0] == ':' {
			return net.JoinHostPort(host, addr[1:])
		}
		return addr
	}
	byName := func(texts map[string]string) map[string]string {
		named := make(map[string]string, len(texts))
		for addr, text := range texts {
			named[name(addr)] = text
		}
		return named
	}
	unnamed := map[string]struct{}{}
	for i := range v.ranges {
		r := &v.ranges[i]
		for j, addr := range r.Addrs {
			if r.Addrs[j] = name(addr); r.Addrs[j] != addr {
				unnamed[addr] = struct{}{}
			}
		}
		r.AddrHostnames, r.AddrZones = byName(r.AddrHostnames), byName(r.AddrZones)
	}
	v.ids = byName(v.ids)
	v.outer = make(map[string]string)
	for i := range v.nodes {
		n := &v.nodes[i]
		if n.Port == 0 || n.IP != "" && len(unnamed) < 2 {
			continue
		}
		outer := net.JoinHostPort(host, strconv.Itoa(n.Port))
		if n.IP != "" && n.Addr != outer {
			v.outer[n.Addr] = outer
		}
		n.IP, n.Addr = host, outer
	}
}

// idsOf returns the IDs of nodes that an answer to CLUSTER SLOTS has, by their addresses in it.
func idsOf(slots any) map[string]string {
	ids := map[string]string{}
	rows, _ := slots.([]any)
	for _, row := range rows {
		cells, _ := row.([]any)
		for _, cell := range cells[min(2, len(cells)):] {
			node, _ := cell.([]any)
			if len(node) < 3 {
				continue
			}
			host, _ := redis.As[string](node[0])
			port, _ := redis.As[string](node[1])
			if id, _ := redis.As[string](node[2]); id != "" {
				ids[net.JoinHostPort(host, port)] = id
			}
		}
	}
	return ids
}

// Contradicts reports whether the view has slots served by another master than the layout.
func (v View) Contradicts(l *Layout) bool {
	for _, r := range v.ranges {
		if len(r.Addrs) == 0 {
			continue
		}
		master, served := l.masterOf(r.From)
		if !served || master != r.Addrs[0] && l.Find(master) != l.Find(r.Addrs[0]) {
			return true
		}
	}
	return false
}

// nodesByAddr returns the nodes by their addresses: of several nodes of one address the first which
// has not failed. A node that has lost its identity leaves the former one behind, as a node that has
// failed.
func (v View) nodesByAddr() map[string]*redisclusterutil.InstanceInfo {
	nodes := make(map[string]*redisclusterutil.InstanceInfo, len(v.nodes))
	add := func(addr string, n *redisclusterutil.InstanceInfo) {
		if known := nodes[addr]; known == nil || known.Fail && !n.Fail {
			nodes[addr] = n
		}
	}
	for i := range v.nodes {
		n := &v.nodes[i]
		add(n.Addr, n)
		if n.Hostname != "" {
			add(alias(n), n)
		}
	}
	return nodes
}

// alias is the node's address by its hostname.
func alias(n *redisclusterutil.InstanceInfo) string {
	_, port, _ := net.SplitHostPort(n.Addr)
	return net.JoinHostPort(n.Hostname, port)
}
