package rediscluster

import "github.com/joomcode/redispipe/redisconn"

// PushNode is for package redispubsub: see redispubsub.Nodes.
func (c *Cluster) PushNode(slot int) *redisconn.Connection {
	t := c.topology.Load()
	if slot >= 0 {
		if s := t.shard(slot); s != nil {
			return s.master.anyConn()
		}
		return nil
	}
	for _, s := range t.shards {
		if s.master.isUp() {
			return s.master.anyConn()
		}
	}
	return nil
}

// PushNodeAt is for package redispubsub: see redispubsub.Nodes.
func (c *Cluster) PushNodeAt(addr string) *redisconn.Connection {
	if n := c.topology.Load().find(addr); n != nil && !n.replica {
		return n.anyConn()
	}
	return nil
}

// PushNodes is for package redispubsub: see redispubsub.Nodes.
func (c *Cluster) PushNodes() ([]*redisconn.Connection, <-chan struct{}) {
	t := c.topology.Load()
	var conns []*redisconn.Connection
	for _, s := range t.shards {
		if conn := s.master.anyConn(); conn != nil {
			conns = append(conns, conn)
		}
	}
	return conns, t.replaced
}

// anyConn returns one of the node's connections, always the same: nil if its address
// is not known.
func (n *node) anyConn() *redisconn.Connection {
	if len(n.links) == 0 {
		return nil
	}
	return n.links[0].conn
}
