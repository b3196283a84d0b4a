package redisreply

// SlotOwner is an element of the reply to CLUSTER SLOTS: a range of slots with its nodes, of
// which the first is the master.
type SlotOwner struct {
	First, Last int
	Nodes       []SlotNode
}

// SlotNode is a node of a [SlotOwner].
type SlotNode struct {
	// Host is empty if the node does not know its own: then it is that of the node that was
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
	// Slots are the first and the last of each range, in turn.
	Slots []int       `redis:"slots"`
	Nodes []ShardNode `redis:"nodes"`
}

// ShardNode is a node of a [Shard].
type ShardNode struct {
	ID string `redis:"id"`
	// Port and TLSPort are 0 if the node does not listen there.
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
