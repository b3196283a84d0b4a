package redisfailover

import "github.com/joomcode/redispipe/redis"

// ErrMembers is returned by [Open] if the members do not meet the rules of [Member], and by
// [Client.SwitchTo] if there is no member with that name, or it is down.
var ErrMembers = redis.ErrOpts.NewType("members")
