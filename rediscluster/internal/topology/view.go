package topology

import (
	"net"
	"strconv"

	"github.com/joomcode/redispipe/internal/slot"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster/redisclusterutil"
)

// View is one node's report about the cluster.
type View struct {
	asked  string // the address of the node that was asked
	ranges []redisclusterutil.SlotsRange
	nodes  redisclusterutil.InstanceInfos // nil if CLUSTER NODES is not allowed
	// ids are the IDs of the nodes in ranges, by address.
	ids map[string]string
	// outer maps the addresses that the nodes use among themselves to addresses with the host of the
	// node that was asked. It is used if the cluster tells clients only ports, because clients then
	// can't reach the nodes' own addresses.
	outer map[string]string
}

// ParseView makes a View from a node's answers to CLUSTER SLOTS and CLUSTER NODES. nodes may be an
// error, because the client's user may have no right to CLUSTER NODES.
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

// speaker returns the reporting node as a speaker. Without an answer to CLUSTER NODES, the node's own ID
// is known only if CLUSTER SLOTS lists the node.
func (v View) speaker() (s speaker) {
	for addr, id := range v.ids {
		s.know(id, addr == v.asked)
	}
	for _, n := range v.nodes {
		s.know(n.Uuid, n.MySelf)
	}
	return s
}

// living returns the IDs of the nodes that have not failed.
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

// addSlots adds the slots that have an owner to slots.
func (v View) addSlots(slots *SlotSet) {
	for _, r := range v.ranges {
		for slot := r.From; len(r.Addrs) > 0 && slot <= r.To; slot++ {
			slots.Add(uint16(slot))
		}
	}
}

// Whole reports whether all slots have an owner.
func (v View) Whole() bool {
	var slots SlotSet
	v.addSlots(&slots)
	return slots.len() == slot.Count
}

// addHosts gives addresses without a host the host of the node that was asked. If CLUSTER SLOTS leaves
// out several hosts, the cluster is configured to tell clients only ports; then addHosts also replaces
// the hosts in CLUSTER NODES, which clients can't reach. If CLUSTER SLOTS leaves out a single host, that
// node may just not know its own.
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

// idsOf returns the IDs of the nodes in an answer to CLUSTER SLOTS, by the addresses in that answer.
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

// Contradicts reports whether the view and the layout have different masters for a slot.
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

// nodesByAddr returns the nodes by address. If several have the same address, it returns the first
// that has not failed: a node that starts again with a new ID leaves its former ID behind as a failed
// node.
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

// alias returns the node's address with its hostname in place of the IP.
func alias(n *redisclusterutil.InstanceInfo) string {
	_, port, _ := net.SplitHostPort(n.Addr)
	return net.JoinHostPort(n.Hostname, port)
}
