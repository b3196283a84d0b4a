package redisreply

import "github.com/joomcode/redispipe/redis"

// Role is the reply to ROLE.
type Role struct {
	Name string // master, slave or sentinel
	// Offset is the server's position in the replication stream, in bytes. It is -1 for a replica that
	// has not received data yet.
	Offset int64 `redis:",omitempty"`
	// Replicas are a master's connected replicas.
	Replicas []Replica
	// Host and Port are the address of a replica's master, and State is connect, connecting, sync or
	// connected.
	Host  string `redis:",omitempty"`
	Port  int    `redis:",omitempty"`
	State string `redis:",omitempty"`
	// Masters are the names of the masters that a sentinel watches.
	Masters []string
}

// Replica is a replica of a [Role].
type Replica struct {
	Host   string
	Port   int
	Offset int64
}

// UnmarshalRedis implements [redis.ResultUnmarshaler].
func (r *Role) UnmarshalRedis(res any) error {
	list, ok := res.([]any)
	type plain Role
	if !ok || len(list) == 0 {
		return inOrder((*plain)(r), res)
	}
	name, _ := redis.As[string](list[0])
	names := fieldsOf[name]
	if len(names) == 0 || len(list) < len(names) {
		return errShape("that to ROLE", res)
	}
	return into((*plain)(r), redis.Zip(names, list[:len(names)]))
}

// fieldsOf has the fields for each role, in the order of the reply.
var fieldsOf = map[string][]any{
	"master":   {"Name", "Offset", "Replicas"},
	"slave":    {"Name", "Host", "Port", "State", "Offset"},
	"sentinel": {"Name", "Masters"},
}

// UnmarshalRedis implements [redis.ResultUnmarshaler].
func (r *Replica) UnmarshalRedis(res any) error {
	type plain Replica
	return inOrder((*plain)(r), res)
}
