package redisconn

import "github.com/joomcode/redispipe/redis"

// Role is the role of a server in replication.
type Role string

const (
	// RoleAny accepts either role.
	RoleAny Role = ""
	// RoleMaster is a server that takes writes.
	RoleMaster Role = "master"
	// RoleReplica is a server that follows another.
	RoleReplica Role = "replica"
)

// ParseRole returns the role in the answer to ROLE.
func ParseRole(res any) (Role, error) {
	if err := redis.AsError(res); err != nil {
		return RoleAny, err
	}
	if list, ok := res.([]any); ok && len(list) > 0 {
		switch name, _ := redis.ArgToString(list[0]); name {
		case "master":
			return RoleMaster, nil
		case "slave":
			return RoleReplica, nil
		}
	}
	return RoleAny, redis.ErrResponseUnexpected.New("the answer to ROLE is neither a master's nor a replica's").
		WithProperty(redis.EKResponse, res)
}
