package testbed

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/joomcode/redispipe/redis"
)

// slotCount is the number of slots of any Redis cluster.
const slotCount = 16384

// ClusterOptions are the options of a cluster. The zero value runs three masters
// with a replica each.
type ClusterOptions struct {
	// Options are the options of every node. With TLS, nodes also use TLS among each other,
	// and report their TLS ports to clients that ask over TLS.
	Options
	// Masters is the number of masters, which share the slots evenly. Default 3.
	Masters int
	// Replicas is the total number of replicas, assigned to the masters in
	// turn. Default: as many as masters; negative: none.
	Replicas int
	// NodeTimeout is the cluster-node-timeout: a node that is silent for this long counts as
	// failed. Default 1 s. With less, a busy machine looks like a failure.
	NodeTimeout time.Duration
	// AgreeTimeout bounds each wait for the nodes to agree, including WaitAgreed.
	// Default 1 min.
	AgreeTimeout time.Duration
}

func (o ClusterOptions) withDefaults() (ClusterOptions, error) {
	if o.Masters <= 0 {
		o.Masters = 3
	}
	if o.Replicas == 0 {
		o.Replicas = o.Masters
	}
	if o.Replicas < 0 {
		o.Replicas = 0
	}
	if o.NodeTimeout <= 0 {
		o.NodeTimeout = time.Second
	}
	if o.AgreeTimeout <= 0 {
		o.AgreeTimeout = time.Minute
	}
	o.Options.cluster = o.NodeTimeout
	var err error
	o.Options, err = o.Options.withDefaults() // so all nodes share one CA
	return o, err
}

// Cluster is a Redis cluster whose nodes are Servers. Nodes 0 to Masters-1 start as
// masters with equal shares of the slots, in that order. The replicas follow: node
// Masters+i is a replica of node i. After a test has changed roles or slots, use Owner,
// Masters and Replicas.
type Cluster struct {
	opts ClusterOptions

	// mu guards nodes.
	mu    sync.Mutex
	nodes []*Node
}

// Node is a server of a cluster. Its identity outlives restarts.
type Node struct {
	*Server
	id string
}

// ID is the node's id in the cluster.
func (n *Node) ID() string { return n.id }

// String names the node in errors.
func (n *Node) String() string { return fmt.Sprintf("node %.8s at %s", n.id, n.Addr()) }

// NewCluster starts a cluster for a test, and closes it when the test ends. If it can't
// start the cluster, the test fails. If the test fails, NewCluster shows the servers' logs. Pass at
// most one opts; without it, the defaults apply.
func NewCluster(t testing.TB, opts ...ClusterOptions) *Cluster {
	t.Helper()
	return forTest(t, StartCluster, opts)
}

// StartCluster starts a cluster and returns when all nodes agree that it is
// complete. Close it.
func StartCluster(opts ClusterOptions) (*Cluster, error) {
	o, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	c := &Cluster{opts: o}
	if err := c.create(); err != nil {
		err = withLogs(err, c)
		c.Close()
		return nil, err
	}
	return c, nil
}

// create starts the nodes and joins them to a cluster.
func (c *Cluster) create() error {
	if err := c.startNodes(c.opts.Masters + c.opts.Replicas); err != nil {
		return err
	}
	nodes, masters := c.Nodes(), c.opts.Masters
	for i, n := range nodes {
		// If their epochs differ from the start, the nodes need not resolve conflicts.
		if err := n.call("CLUSTER SET-CONFIG-EPOCH", i+1); err != nil {
			return err
		}
		if i >= masters {
			continue
		}
		var slots []any
		for slot := i * slotCount / masters; slot < (i+1)*slotCount/masters; slot++ {
			slots = append(slots, slot)
		}
		if err := n.call("CLUSTER ADDSLOTS", slots...); err != nil {
			return err
		}
	}
	if err := c.acquaint(); err != nil {
		return err
	}
	for i, n := range nodes[masters:] {
		if err := c.replicate(n, nodes[i%masters]); err != nil {
			return err
		}
	}
	return c.WaitAgreed()
}

// acquaint introduces every pair of nodes, because gossip takes seconds. It repeats introductions
// that were lost: on a busy machine, a node may not answer within the node time-out, and then the
// other node forgets it.
func (c *Cluster) acquaint() error {
	var introduced time.Time
	again := 2 * max(c.opts.NodeTimeout, time.Second)
	return waitUntil(c.opts.AgreeTimeout, "agreement of the cluster", func() error {
		nodes := c.Nodes()
		if time.Since(introduced) > again {
			introduced = time.Now()
			for i, n := range nodes {
				for _, other := range nodes[i+1:] {
					if err := n.meet(other); err != nil {
						return err
					}
				}
			}
		}
		for _, n := range nodes {
			if err := n.knows(nodes); err != nil {
				return err
			}
		}
		return nil
	})
}

// startNodes starts count more nodes at once.
func (c *Cluster) startNodes(count int) error {
	started, errs := make([]*Node, count), make([]error, count)
	var all sync.WaitGroup
	for i := range count {
		all.Go(func() { started[i], errs[i] = startNode(c.opts.Options) })
	}
	all.Wait()
	started = slices.DeleteFunc(started, func(n *Node) bool { return n == nil })
	c.mu.Lock()
	c.nodes = append(c.nodes, started...)
	c.mu.Unlock()
	return errors.Join(errs...)
}

func startNode(o Options) (*Node, error) {
	s, err := Start(o)
	if err != nil {
		return nil, err
	}
	id, ok := s.Do("CLUSTER MYID").([]byte)
	if !ok {
		s.Close()
		return nil, fmt.Errorf("testbed: server at %s does not tell its node id", s.Addr())
	}
	return &Node{Server: s, id: string(id)}, nil
}

// Nodes returns all nodes, including those that are down.
func (c *Cluster) Nodes() []*Node {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.nodes)
}

// Node returns node i. Like a slice, it panics if there is none.
func (c *Cluster) Node(i int) *Node { return c.Nodes()[i] }

// Addrs returns the addresses of all nodes, in the order of Nodes.
func (c *Cluster) Addrs() []string {
	var addrs []string
	for _, n := range c.Nodes() {
		addrs = append(addrs, n.Addr())
	}
	return addrs
}

// TLSAddrs returns the TLS addresses of all nodes, in the order of Nodes.
func (c *Cluster) TLSAddrs() []string {
	var addrs []string
	for _, n := range c.Nodes() {
		addrs = append(addrs, n.TLSAddr())
	}
	return addrs
}

// Slot returns the slot of a key.
func (c *Cluster) Slot(key string) (int, error) {
	n, err := c.anyLive()
	if err != nil {
		return 0, err
	}
	res := n.Do("CLUSTER KEYSLOT", key)
	slot, ok := res.(int64)
	if !ok {
		return 0, n.failed("CLUSTER KEYSLOT", redis.AsError(res))
	}
	return int(slot), nil
}

// Close kills all nodes and removes their directories.
func (c *Cluster) Close() {
	var all sync.WaitGroup
	for _, n := range c.Nodes() {
		all.Go(n.Close)
	}
	all.Wait()
}

// live returns the nodes that run and are not paused.
func (c *Cluster) live() []*Node {
	return slices.DeleteFunc(c.Nodes(), func(n *Node) bool { return !n.live() })
}

func (c *Cluster) anyLive() (*Node, error) {
	if nodes := c.live(); len(nodes) > 0 {
		return nodes[0], nil
	}
	return nil, errors.New("testbed: no node of the cluster is up")
}

// call runs a command and returns only its error.
func (n *Node) call(cmd string, args ...any) error {
	if err := redis.AsError(n.Do(cmd, args...)); err != nil {
		return n.failed(cmd, err)
	}
	return nil
}

func (n *Node) failed(cmd string, err error) error {
	return fmt.Errorf("testbed: %s on %v: %w", cmd, n, err)
}

func (c *Cluster) started() (all []*Server) {
	for _, n := range c.Nodes() {
		all = append(all, n.Server)
	}
	return all
}
