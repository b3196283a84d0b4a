package redisreply

import (
	"strings"
	"time"

	"github.com/joomcode/redispipe/redis"
)

// Denial is an element of the reply to ACL LOG: a refusal by the rules of a user. Redis has
// EntryID, Created and Updated from 7.2 on.
type Denial struct {
	// Count is the number of such refusals. Each came within a minute of the previous one.
	Count int64 `redis:"count"`
	// Reason is auth, command, key, channel or db, and Context toplevel, multi, lua or module.
	Reason  string `redis:"reason"`
	Context string `redis:"context"`
	// Object is the refused command, key or channel.
	Object string `redis:"object"`
	User   string `redis:"username"`
	// Age is the time since the last refusal, in seconds.
	Age float64 `redis:"age-seconds"`
	// Client has one element.
	Client  Clients `redis:"client-info"`
	EntryID int64   `redis:"entry-id,omitempty"`
	// Created and Updated are the times of the first and the last refusal.
	Created time.Time `redis:"timestamp-created,unixmilli,omitempty"`
	Updated time.Time `redis:"timestamp-last-updated,unixmilli,omitempty"`
}

// User is the reply to ACL GETUSER. For an unknown user the reply is null.
type User struct {
	Flags []string `redis:"flags"` // such as on and nopass
	// Passwords are the SHA-256 sums of the passwords, in hexadecimal.
	Passwords []string `redis:"passwords"`
	Rules
	// Selectors are further sets of rules, each independent of the others.
	Selectors []Rules `redis:"selectors"`
}

// Rules are a user's permissions, in the syntax of ACL SETUSER.
type Rules struct {
	// Commands are separated by spaces, such as -@all +get.
	Commands string `redis:"commands"`
	// Keys and Channels are patterns, such as ~a* and &news. Redis 6.2 returns them without the ~
	// and the &.
	Keys     Patterns `redis:"keys"`
	Channels Patterns `redis:"channels"`
	// Databases is alldbs, or db= with numbers. Valkey has them from 9.1 on.
	Databases Patterns `redis:"databases"`
}

// Patterns are patterns. Most servers return them as one text, separated by spaces; Redis 6.2
// returns a list.
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
