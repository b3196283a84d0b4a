package redisreply

import "github.com/joomcode/redispipe/redis"

// Done reports whether a command did what it was asked for: OK and 1 are true, 0 is false, and
// so is null, with which SET answers if NX or XX kept it from setting.
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
