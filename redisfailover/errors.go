package redisfailover

import "github.com/joomcode/redispipe/redis"

// ErrMembers is returned by [Open] if the members are not given as [Member] says, and by
// [Client.SwitchTo] if there is no such member, or it is down.
var ErrMembers = redis.ErrOpts.NewType("members")
