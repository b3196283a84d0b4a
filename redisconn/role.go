package redisconn

import "github.com/joomcode/redispipe/internal/dial"

// Role is a server's role in replication.
type Role = dial.Role

const (
	// RoleAny accepts either role.
	RoleAny Role = dial.RoleAny
	// RoleMaster is a server that takes writes.
	RoleMaster Role = dial.RoleMaster
	// RoleReplica is a server that follows another.
	RoleReplica Role = dial.RoleReplica
)

// ParseRole returns the role in the answer to ROLE.
func ParseRole(res any) (Role, error) { return dial.ParseRole(res) }
