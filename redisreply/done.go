package redisreply

import "github.com/joomcode/redispipe/redis"

// Done reports whether a command had its effect: OK and 1 are true; 0 and null are false. SET returns
// null if NX or XX prevented it.
type Done bool

// UnmarshalRedis implements [redis.ResultUnmarshaler].
func (d *Done) UnmarshalRedis(res any) error {
	switch res {
	case nil:
		*d = false
		return nil
	case any("OK"):
		*d = true
		return nil
	}
	done, err := redis.As[bool](res)
	if err == nil {
		*d = Done(done)
	}
	return err
}
