package testbed

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/joomcode/redispipe/redis"
)

// FailoverMode is the way in which a replica replaces its master.
type FailoverMode string

const (
	// Graceful asks the master, which must be up. No write is lost.
	Graceful FailoverMode = ""
	// Force asks only the other masters. Use it if the master is down.
	Force FailoverMode = "FORCE"
	// Takeover asks no other node.
	Takeover FailoverMode = "TAKEOVER"
)

// failoverTimeout is the time after which a node gives up a manual failover.
const failoverTimeout = 5 * time.Second

// meet introduces other to n.
func (n *Node) meet(other *Node) error {
	other.mu.Lock()
	ports := other.ports
	other.mu.Unlock()
	client := ports.plain.num
	if other.opts.TLS {
		client = ports.tls.num
	}
	return n.call("CLUSTER MEET", "127.0.0.1", client, ports.bus.num)
}

// knows returns an error unless n knows all nodes.
func (n *Node) knows(nodes []*Node) error {
	peers, err := n.view()
	if err != nil {
		return err
	}
	for _, other := range nodes {
		if !slices.ContainsFunc(peers, func(p peer) bool { return p.id == other.id && !p.is("handshake") }) {
			return fmt.Errorf("%v does not know %v", n, other)
		}
	}
	return nil
}

// replicate makes n a replica of master, after n has learned of the master.
func (c *Cluster) replicate(n, master *Node) error {
	return waitUntil(c.opts.AgreeTimeout, "replica of "+master.String(), func() error {
		return n.call("CLUSTER REPLICATE", master.id)
	})
}

// Failover makes a replica the master of its shard and waits until the replica is a master. The
// other nodes learn of it a little later: see WaitAgreed. Failover repeats the request if it times
// out, which happens shortly after another failover of the shard.
func (c *Cluster) Failover(replica *Node, mode FailoverMode) error {
	var args []any
	if mode != Graceful {
		args = append(args, string(mode))
	}
	var asked time.Time
	err := waitUntil(c.opts.AgreeTimeout, "failover to "+replica.String(), func() error {
		role, err := replica.info("INFO replication", "role")
		if err != nil || role == "master" {
			return err
		}
		if time.Since(asked) > failoverTimeout {
			if err := replica.call("CLUSTER FAILOVER", args...); err != nil {
				return err
			}
			asked = time.Now()
		}
		return errors.New("still a replica")
	})
	if err != nil {
		return err
	}
	// A node that has just won an election may win the next one with the votes and the epoch of the
	// last one. The other nodes do not accept such an old epoch.
	return replica.call("CLUSTER BUMPEPOCH")
}

// AddMaster starts a node without slots, adds it to the cluster, and waits until
// all agree.
func (c *Cluster) AddMaster() (*Node, error) { return c.add(nil) }

// AddReplica starts a replica of master, adds it to the cluster, and waits until
// all agree.
func (c *Cluster) AddReplica(master *Node) (*Node, error) { return c.add(master) }

// add adds a node. If that fails halfway, the node stays in the cluster until Close.
func (c *Cluster) add(master *Node) (*Node, error) {
	others := c.live()
	if err := c.startNodes(1); err != nil {
		return nil, err
	}
	nodes := c.Nodes()
	n := nodes[len(nodes)-1]
	for _, other := range others {
		if err := n.meet(other); err != nil {
			return nil, err
		}
	}
	if master != nil {
		if err := c.replicate(n, master); err != nil {
			return nil, err
		}
	}
	return n, c.WaitAgreed()
}

// Remove closes a node, which must own no slot and have no replica. It makes the
// live nodes forget it, and waits until all agree. The node may be down.
func (c *Cluster) Remove(n *Node) error {
	peers, err := c.peers()
	if err != nil {
		return err
	}
	for _, p := range peers {
		if p.id == n.id && p.slots != "" || p.master == n.id {
			return fmt.Errorf("testbed: remove %v: it has slots or a replica: %.8s %s", n, p.id, p.slots)
		}
	}
	c.mu.Lock()
	c.nodes = slices.DeleteFunc(c.nodes, func(other *Node) bool { return other == n })
	c.mu.Unlock()
	n.Close()
	for _, other := range c.live() {
		if err := other.forget(n.id); err != nil {
			return err
		}
	}
	return c.WaitAgreed()
}

// forget makes n forget a node. n may have already done so, because since version 7.2
// nodes tell each other.
func (n *Node) forget(id string) error {
	res := redis.AsError(n.Do("CLUSTER FORGET", id))
	if res == nil {
		return nil
	}
	peers, err := n.view()
	if err != nil {
		return err
	}
	if slices.ContainsFunc(peers, func(p peer) bool { return p.id == id }) {
		return n.failed("CLUSTER FORGET", res)
	}
	return nil
}
