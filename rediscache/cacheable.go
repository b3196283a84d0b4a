package rediscache

import (
	"strings"

	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/internal/wire"
)

// keysAt says which words of a request are keys.
type keysAt uint8

const (
	oneKey     keysAt = iota + 1 // the first argument
	oneKeyText                   // the same, and the reply is a string or null
	allKeys                      // all arguments
)

// cacheable are the commands whose replies depend on the values of their keys alone, so that
// an invalidation of these says that the reply may be another one. Commands that depend on the
// time (TTL, XPENDING), on chance (SRANDMEMBER), on a cursor (HSCAN), on how a value is kept
// (OBJECT, DUMP) or on keys that they do not name (SORT_RO, scripts) are none.
var cacheable = func() map[*command.Info]keysAt {
	table := map[*command.Info]keysAt{}
	add := func(at keysAt, names string) {
		for _, name := range strings.Fields(names) {
			if info := command.Lookup(name); info.Is(command.ReplicaSafe) {
				table[info] = at
			}
		}
	}
	add(oneKeyText, "GET GETRANGE SUBSTR HGET LINDEX")
	add(oneKey, `STRLEN GETBIT BITCOUNT BITPOS BITFIELD_RO TYPE
		HMGET HGETALL HKEYS HVALS HLEN HEXISTS HSTRLEN
		LLEN LRANGE LPOS
		SCARD SISMEMBER SMISMEMBER SMEMBERS
		ZCARD ZCOUNT ZLEXCOUNT ZMSCORE ZSCORE ZRANK ZREVRANK ZRANGE ZREVRANGE
		ZRANGEBYSCORE ZREVRANGEBYSCORE ZRANGEBYLEX ZREVRANGEBYLEX
		GEOPOS GEODIST GEOHASH GEOSEARCH
		XLEN XRANGE XREVRANGE`)
	add(allKeys, "MGET EXISTS SINTER SUNION SDIFF")
	return table
}()

// appendKeysOfRead appends the keys of a request that is cacheable, none if it is not. isText is
// set if its reply is a string, or null.
func appendKeysOfRead(keys [][]byte, r *wire.Request, protocol int) (_ [][]byte, isText bool) {
	info := command.Lookup(r.Cmd) // nil if an argument is in Cmd
	at := cacheable[info]
	if at == 0 || protocol == 2 && otherIn2[info] {
		return keys, false
	}
	if at != allKeys {
		if key := r.Arg(1); key != nil {
			keys = append(keys, key)
		}
		return keys, at == oneKeyText
	}
	for i, word := range r.All {
		if i > 0 {
			keys = append(keys, word)
		}
	}
	return keys, false
}
