package redisreply

import "time"

// SlotOwner is an element of the reply to CLUSTER SLOTS: a range of slots with its nodes. The first
// node is the master.
type SlotOwner struct {
	First, Last int
	Nodes       []SlotNode
}

// SlotNode is a node of a [SlotOwner].
type SlotNode struct {
	// Host is empty if the node does not know its own host. Then use the host of the node that you
	// asked.
	Host string `redis:",omitempty"`
	Port int
	ID   string `redis:",omitempty"`
}

// UnmarshalRedis implements [redis.ResultUnmarshaler].
func (o *SlotOwner) UnmarshalRedis(res any) error {
	if list, ok := res.([]any); ok && len(list) > 2 {
		res = []any{list[0], list[1], list[2:]}
	}
	type plain SlotOwner
	return inOrder((*plain)(o), res)
}

// UnmarshalRedis implements [redis.ResultUnmarshaler].
func (n *SlotNode) UnmarshalRedis(res any) error {
	type plain SlotNode
	return inOrder((*plain)(n), res)
}

// Shard is an element of the reply to CLUSTER SHARDS.
type Shard struct {
	// Slots alternates between the first and the last slot of each range.
	Slots []int       `redis:"slots"`
	Nodes []ShardNode `redis:"nodes"`
}

// ShardNode is a node of a [Shard].
type ShardNode struct {
	ID string `redis:"id"`
	// Port and TLSPort are 0 if the node does not listen on such a port.
	Port     int    `redis:"port,omitempty"`
	TLSPort  int    `redis:"tls-port,omitempty"`
	IP       string `redis:"ip,omitempty"`
	Endpoint string `redis:"endpoint,omitempty"`
	Hostname string `redis:"hostname,omitempty"`
	// Role is master or replica, and Health online, failed or loading.
	Role              string `redis:"role"`
	ReplicationOffset int64  `redis:"replication-offset"`
	Health            string `redis:"health"`
}

// Link is an element of the reply to CLUSTER LINKS: a connection of the cluster bus.
type Link struct {
	// Direction is "to" if the node that you asked has opened the link, and otherwise "from".
	Direction string `redis:"direction"`
	// Node is the ID of the other node.
	Node    string    `redis:"node"`
	Created time.Time `redis:"create-time,unixmilli"`
	// Events is r, w or rw: the events for which the link is registered.
	Events string `redis:"events"`
	// SendBufferAllocated and SendBufferUsed are in bytes.
	SendBufferAllocated int64 `redis:"send-buffer-allocated"`
	SendBufferUsed      int64 `redis:"send-buffer-used"`
}

// SlotStats is an element of the reply to CLUSTER SLOT-STATS. The statistics, such as
// key-count and cpu-usec, depend on the server and its configuration.
type SlotStats struct {
	Slot  int
	Stats map[string]int64
}

// UnmarshalRedis implements [redis.ResultUnmarshaler].
func (s *SlotStats) UnmarshalRedis(res any) error {
	type plain SlotStats
	return inOrder((*plain)(s), res)
}
