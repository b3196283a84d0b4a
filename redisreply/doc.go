// Package redisreply has types for replies that are more than a value, a list
// or a map. [redis.As] and DoInto read them from RESP2 and RESP3 replies:
//
//	var slow []redisreply.SlowCommand
//	err := client.DoInto(ctx, &slow, "SLOWLOG GET", 10)
//
//	GEOSEARCH, GEORADIUS…   []Place
//	GEOPOS                  []*Point
//	XPENDING key group      PendingSummary
//	XPENDING key group - …  []PendingEntry
//	XINFO STREAM            Stream
//	XINFO GROUPS            []Group
//	XINFO CONSUMERS         []Consumer
//	INFO                    Info
//	CLIENT LIST, INFO       Clients
//	SLOWLOG GET             []SlowCommand
//	COMMAND, COMMAND INFO   []Command; []*Command with names that may be unknown
//	COMMAND GETKEYSANDFLAGS []KeyFlags
//	CLIENT TRACKINGINFO     Tracking
//	CLUSTER SLOTS           []SlotOwner
//	CLUSTER SHARDS          []Shard
//	CLUSTER LINKS           []Link
//	CLUSTER SLOT-STATS      []SlotStats
//	ROLE                    Role
//	ACL LOG                 []Denial
//	ACL GETUSER             *User
//	COMMANDLOG GET          []LoggedCommand
//	FUNCTION LIST           []Library
//	MODULE LIST             []Module
//	LATENCY LATEST          []LatencyEvent
//	LATENCY HISTORY         []LatencySample
//	LATENCY HISTOGRAM       map[string]Histogram
//	LCS with IDX            Common
//	SET with NX, XX or IFEQ Done
//	SCAN, HSCAN…            Page
//	BLPOP, LMPOP, BZPOPMIN… *Popped
//	ZRANK with WITHSCORE    *Ranked
//	XAUTOCLAIM              Claimed
//	XREADGROUP with CLAIM   map[string][]Delivery
//	INCREX                  Incremented
//
// Data without a field in these types is ignored. A field is zero if an older server does
// not return it; the fields document this. A reply with another shape is a
// [redis.ErrResponseUnexpected], and null is a [redis.ErrResponseNil].
package redisreply

import "github.com/joomcode/redispipe/redis"

// inOrder reads the elements of an array into the fields of a struct, in order. It ignores elements
// for which the struct has no fields.
func inOrder[T any](dst *T, res any) error {
	if res == nil {
		return into(dst, nil)
	}
	names := redis.FieldNames[T]()
	if list, ok := res.([]any); ok {
		n := min(len(list), len(names))
		names, res = names[:n], list[:n]
	}
	return into(dst, redis.Zip(names, res))
}

// into reads a result into dst.
func into[T any](dst *T, res any) error {
	v, err := redis.As[T](res)
	if err == nil {
		*dst = v
	}
	return err
}

// errShape returns the error of a reply with an unexpected shape.
func errShape(what string, res any) error {
	return redis.ErrResponseUnexpected.New("a reply of type %T is not %s", res, what).WithProperty(redis.EKResponse, res)
}
