package topology

import (
	"net"
	"strconv"

	"github.com/joomcode/redispipe/rediscluster/redisclusterutil"
)

// View is what one node says about the cluster.
type View struct {
	asked  string // the address that was asked
	ranges []redisclusterutil.SlotsRange
	nodes  redisclusterutil.InstanceInfos // nil where CLUSTER NODES is not allowed
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
	v := View{asked: asked, ranges: ranges, nodes: known}
	v.addHosts()
	return v, nil
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

// ofOneCluster returns the views of the nodes of one cluster, that of most of them: at the address of
// a node that is gone there may be a node of another cluster by now, whose epochs mean nothing here.
// Two nodes are of one cluster if each knows the other. Views without nodes count in any case.
func ofOneCluster(views []View) (most []View) {
	// The IDs of the nodes that each view has, nil if it has none, and that of the node it is of.
	known, own := make([]map[string]bool, len(views)), make([]string, len(views))
	for i, v := range views {
		if v.nodes == nil {
			continue
		}
		known[i] = make(map[string]bool, len(v.nodes))
		for _, n := range v.nodes {
			known[i][n.Uuid] = true
			if n.MySelf {
				own[i] = n.Uuid
			}
		}
	}
	knows := func(i, j int) bool { return known[i] == nil || own[j] == "" || known[i][own[j]] }
	for i := range views {
		var with []View
		for j, v := range views {
			if knows(i, j) && knows(j, i) {
				with = append(with, v)
			}
		}
		if known[i] != nil && len(with) > len(most) {
			most = with
		}
	}
	if most == nil {
		return views
	}
	return most
}

// alias is the node's address by its hostname.
func alias(n *redisclusterutil.InstanceInfo) string {
	_, port, _ := net.SplitHostPort(n.Addr)
	return net.JoinHostPort(n.Hostname, port)
}
