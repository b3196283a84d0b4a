package testbed

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/joomcode/redispipe/redis"
)

// truth is the real state of a node.
type truth struct {
	id, addr string
	live     bool
}

// opinion is the report of a live node.
type opinion struct {
	of    string // the node's name in errors
	state string // cluster_state of CLUSTER INFO
	link  string // master_link_status of INFO; empty for a master
	peers []peer
}

// WaitAgreed waits, for at most ClusterOptions.AgreeTimeout, until every live node (up and not
// paused) sees the real state of the cluster. That means: The cluster works. Exactly the nodes of
// Nodes are members, at their current addresses. The live nodes are connected, and the others count
// as failed. All slots belong to live masters, and all nodes agree on the owners and on their
// configuration epochs, which all differ. Live replicas are in sync with their masters. If a
// condition is still missing after that time, the error names it.
func (c *Cluster) WaitAgreed() error { return c.WaitAgreedFor(c.opts.AgreeTimeout) }

// WaitAgreedFor is WaitAgreed with another bound.
func (c *Cluster) WaitAgreedFor(timeout time.Duration) error {
	return waitUntil(timeout, "agreement of the cluster", func() error {
		truths, opinions, err := c.survey()
		if err != nil {
			return err
		}
		return disagreement(truths, opinions)
	})
}

// survey returns the real state of all nodes, and the reports of the live ones.
func (c *Cluster) survey() ([]truth, []opinion, error) {
	var truths []truth
	var opinions []opinion
	for _, n := range c.Nodes() {
		live := n.live()
		truths = append(truths, truth{n.id, n.Addr(), live})
		if !live {
			continue
		}
		peers, err := n.view()
		if err != nil {
			return nil, nil, err
		}
		state, err := n.info("CLUSTER INFO", "cluster_state")
		if err != nil {
			return nil, nil, err
		}
		link, err := n.info("INFO replication", "master_link_status")
		if err != nil {
			return nil, nil, err
		}
		opinions = append(opinions, opinion{n.String(), state, link, peers})
	}
	return truths, opinions, nil
}

// info asks for one field of an INFO command.
func (n *Node) info(cmd, field string) (string, error) {
	res := n.Do(cmd)
	text, ok := res.([]byte)
	if !ok {
		return "", n.failed(cmd, redis.AsError(res))
	}
	return infoField(string(text), field), nil
}

// disagreement returns the first difference between the opinions and the truth, or between two
// opinions, or nil if there is none.
func disagreement(truths []truth, opinions []opinion) error {
	if len(opinions) == 0 {
		return fmt.Errorf("no node is up")
	}
	for _, o := range opinions {
		if o.state != "ok" {
			return fmt.Errorf("%s: cluster_state is %q", o.of, o.state)
		}
		if o.link != "" && o.link != "up" {
			return fmt.Errorf("%s: link to its master is %q", o.of, o.link)
		}
		if err := o.misjudges(truths); err != nil {
			return fmt.Errorf("%s: %w", o.of, err)
		}
		if first := opinions[0]; summary(o.peers) != summary(first.peers) {
			return fmt.Errorf("%s and %s differ:\n%s\n%s", first.of, o.of, summary(first.peers), summary(o.peers))
		}
	}
	return nil
}

// misjudges returns an error that describes what is wrong in an opinion.
func (o opinion) misjudges(truths []truth) error {
	if len(o.peers) != len(truths) {
		return fmt.Errorf("knows %d nodes of %d", len(o.peers), len(truths))
	}
	owned, owners := 0, make(map[string]string) // by epoch
	for _, t := range truths {
		i := slices.IndexFunc(o.peers, func(p peer) bool { return p.id == t.id })
		if i < 0 {
			return fmt.Errorf("does not know %.8s", t.id)
		}
		p := o.peers[i]
		switch flags := strings.Join(p.flags, ","); {
		case !t.live && !p.is("fail"):
			return fmt.Errorf("takes %.8s, which is down, for %s", t.id, flags)
		case !t.live:
			continue // if this node has slots, they are missing from owned
		case p.is("fail") || p.is("fail?") || p.is("handshake") || p.is("noaddr"):
			return fmt.Errorf("takes %.8s for %s", t.id, flags)
		case p.addr != t.addr && "127.0.0.1"+p.addr != t.addr: // a node without others does not know its host
			return fmt.Errorf("has %.8s at %s instead of %s", t.id, p.addr, t.addr)
		case !p.linked && !p.is("myself"):
			return fmt.Errorf("is not connected to %.8s", t.id)
		}
		if p.slots != "" {
			if other, taken := owners[p.epoch]; taken {
				return fmt.Errorf("gives %.8s and %.8s the epoch %s", other, p.id, p.epoch)
			}
			owners[p.epoch] = p.id
		}
		if err := p.ranges(func(first, last int) { owned += last - first + 1 }); err != nil {
			return err
		}
	}
	if owned != slotCount {
		return fmt.Errorf("%d of %d slots have a live owner", owned, slotCount)
	}
	return nil
}

// summary returns the data that must be the same for all nodes: the master of each replica, the
// owner of each slot, and the epochs. If a node knew an older epoch of an owner, it could take over
// a slot with an epoch that the others consider outdated. Then it would lose the slot to the next
// message of the former owner, again and again.
func summary(peers []peer) string {
	var lines []string
	for _, p := range peers {
		role := "master"
		switch {
		case p.master != "":
			role = fmt.Sprintf("replica of %.8s", p.master)
		case p.slots != "":
			role = fmt.Sprintf("master of %s since epoch %s", p.slots, p.epoch)
		}
		lines = append(lines, fmt.Sprintf("%.8s %s", p.id, role))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
