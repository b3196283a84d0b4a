package dial

import "github.com/joomcode/redispipe/redis"

// Role is that of package redisconn.
type Role string

// The roles of package redisconn.
const (
	RoleAny     Role = ""
	RoleMaster  Role = "master"
	RoleReplica Role = "replica"
)

// ParseRole is redisconn.ParseRole.
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
