package testbed

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/joomcode/redispipe/redis"
)

// peer is one node's report about another: a line of CLUSTER NODES.
type peer struct {
	id     string
	addr   string // address of the plain port, which the testbed uses
	flags  []string
	master string // id; empty for a master
	epoch  string // configuration epoch; that of a replica is its master's
	linked bool
	slots  string // ranges as the server prints them, without migrations
}

func (p peer) is(flag string) bool { return slices.Contains(p.flags, flag) }

// parsePeers parses the reply to CLUSTER NODES.
func parsePeers(text string) ([]peer, error) {
	var peers []peer
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 8 {
			return nil, fmt.Errorf("testbed: line of CLUSTER NODES: %q", line)
		}
		p := peer{id: f[0], flags: strings.Split(f[2], ","), epoch: f[6], linked: f[7] == "connected"}
		// The form is host:port@bus. Since version 7 a comma and a host name follow.
		p.addr, _, _ = strings.Cut(f[1], "@")
		if f[3] != "-" {
			p.master = f[3]
		}
		ranges := slices.DeleteFunc(f[8:], func(s string) bool { return strings.HasPrefix(s, "[") })
		p.slots = strings.Join(ranges, " ")
		peers = append(peers, p)
	}
	return peers, nil
}

// ranges calls f for each range of slots of a peer.
func (p peer) ranges(f func(first, last int)) error {
	for word := range strings.FieldsSeq(p.slots) {
		low, high, isRange := strings.Cut(word, "-")
		if !isRange {
			high = low
		}
		first, err1 := strconv.Atoi(low)
		last, err2 := strconv.Atoi(high)
		if err1 != nil || err2 != nil || first < 0 || last >= slotCount || first > last {
			return fmt.Errorf("testbed: slots in CLUSTER NODES: %q", word)
		}
		f(first, last)
	}
	return nil
}

// view asks a node for its view of the cluster.
func (n *Node) view() ([]peer, error) {
	res := n.Do("CLUSTER NODES")
	text, ok := res.([]byte)
	if !ok {
		return nil, n.failed("CLUSTER NODES", redis.AsError(res))
	}
	return parsePeers(string(text))
}

// find returns the node with an id, or nil.
func (c *Cluster) find(id string) *Node {
	nodes := c.Nodes()
	if i := slices.IndexFunc(nodes, func(n *Node) bool { return n.id == id }); i >= 0 {
		return nodes[i]
	}
	return nil
}

// peers returns the view of the first node that is up.
func (c *Cluster) peers() ([]peer, error) {
	n, err := c.anyLive()
	if err != nil {
		return nil, err
	}
	return n.view()
}

// Owner returns the master of a slot, as the first node that is up sees it.
func (c *Cluster) Owner(slot int) (*Node, error) {
	peers, err := c.peers()
	if err != nil {
		return nil, err
	}
	return c.ownerIn(peers, slot)
}

// ownerIn returns the owner of the slot according to one node's report.
func (c *Cluster) ownerIn(peers []peer, slot int) (*Node, error) {
	for _, p := range peers {
		owner := false
		if err := p.ranges(func(first, last int) { owner = owner || first <= slot && slot <= last }); err != nil {
			return nil, err
		}
		if n := c.find(p.id); owner && n != nil {
			return n, nil
		}
	}
	return nil, fmt.Errorf("testbed: no node owns slot %d", slot)
}

// Masters returns the masters that have not failed, including those without slots,
// as the first node that is up sees them.
func (c *Cluster) Masters() ([]*Node, error) {
	return c.filter(func(p peer) bool { return p.is("master") && !p.is("fail") })
}

// Replicas returns the replicas of a master that have not failed, as the
// first node that is up sees them.
func (c *Cluster) Replicas(master *Node) ([]*Node, error) {
	return c.filter(func(p peer) bool { return p.master == master.id && !p.is("fail") })
}

// filter returns the nodes, in order, for whose line of CLUSTER NODES keep returns true.
func (c *Cluster) filter(keep func(peer) bool) ([]*Node, error) {
	peers, err := c.peers()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(c.Nodes(), func(n *Node) bool {
		return !slices.ContainsFunc(peers, func(p peer) bool { return p.id == n.id && keep(p) })
	}), nil
}
