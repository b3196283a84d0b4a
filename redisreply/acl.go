package redisreply

import (
	"strings"
	"time"

	"github.com/joomcode/redispipe/redis"
)

// Denial is an element of the reply to ACL LOG: what the rules of a user have refused. Redis has
// EntryID, Created and Updated from 7.2 on.
type Denial struct {
	// Count is how often it has happened within a minute of the last time.
	Count int64 `redis:"count"`
	// Reason is auth, command, key, channel or db, and Context toplevel, multi, lua or module.
	Reason  string `redis:"reason"`
	Context string `redis:"context"`
	// Object is the command, the key or the channel that was refused.
	Object string `redis:"object"`
	User   string `redis:"username"`
	// Age is how long ago the last time was, in seconds.
	Age float64 `redis:"age-seconds"`
	// Client has one element.
	Client  Clients `redis:"client-info"`
	EntryID int64   `redis:"entry-id,omitempty"`
	// Created and Updated are the first time and the last.
	Created time.Time `redis:"timestamp-created,unixmilli,omitempty"`
	Updated time.Time `redis:"timestamp-last-updated,unixmilli,omitempty"`
}

// User is the reply to ACL GETUSER, which is null for a user that there is not.
type User struct {
	Flags []string `redis:"flags"` // such as on and nopass
	// Passwords are their SHA-256 sums, in hexadecimal.
	Passwords []string `redis:"passwords"`
	Rules
	// Selectors are further rules, of which each stands for itself.
	Selectors []Rules `redis:"selectors"`
}

// Rules are what a user may do, in the words of ACL SETUSER.
type Rules struct {
	// Commands are separated by spaces, such as -@all +get.
	Commands string `redis:"commands"`
	// Keys and Channels are patterns, such as ~a* and &news. Redis 6.2 tells them without the ~
	// and the &.
	Keys     Patterns `redis:"keys"`
	Channels Patterns `redis:"channels"`
	// Databases are alldbs, or db= with numbers. Valkey has them from 9.1 on.
	Databases Patterns `redis:"databases"`
}

// Patterns are what a server tells as a text, with spaces between them, and Redis 6.2 as a list.
type Patterns []string

// UnmarshalRedis implements [redis.ResultUnmarshaler].
func (p *Patterns) UnmarshalRedis(res any) error {
	if list, ok := res.([]any); ok {
		return into((*[]string)(p), list)
	}
	text, err := redis.As[string](res)
	if err == nil {
		*p = strings.Fields(text)
	}
	return err
}
