package rediscache

import (
	"strings"

	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/internal/send"
)

// keysAt says which words of a request are keys.
type keysAt uint8

const (
	oneKey     keysAt = iota + 1 // the first argument
	oneKeyText                   // the same, and the reply is a string or null
	oneKeyIn3                    // the same, and what the reply is with RESP2 can't be made of it
	allKeys                      // all arguments
)

// keysOf returns which words of a command are keys if it is cacheable, else 0: its reply depends on
// the values of its keys alone, so that an invalidation of these says that the reply may be another
// one. Commands that depend on the time (TTL, XPENDING), on chance (SRANDMEMBER), on a cursor (HSCAN),
// on how a value is kept (OBJECT, DUMP) or on keys that they do not name (SORT_RO, scripts) are not.
func keysOf(name string) keysAt {
	switch name {
	case "GET", "GETRANGE", "SUBSTR", "HGET", "LINDEX":
		return oneKeyText
	case "STRLEN", "GETBIT", "BITCOUNT", "BITPOS", "BITFIELD_RO", "TYPE",
		"HMGET", "HGETALL", "HKEYS", "HVALS", "HLEN", "HEXISTS", "HSTRLEN",
		"LLEN", "LRANGE", "LPOS",
		"SCARD", "SISMEMBER", "SMISMEMBER", "SMEMBERS",
		"ZCARD", "ZCOUNT", "ZLEXCOUNT", "ZRANK", "ZREVRANK", "ZRANGE", "ZREVRANGE",
		"ZRANGEBYSCORE", "ZREVRANGEBYSCORE", "ZRANGEBYLEX", "ZREVRANGEBYLEX",
		"GEOHASH", "GEOSEARCH",
		"XLEN", "XRANGE", "XREVRANGE":
		return oneKey
	case "ZMSCORE", "ZSCORE", "GEOPOS", "GEODIST":
		return oneKeyIn3
	case "MGET", "EXISTS", "SINTER", "SUNION", "SDIFF":
		return allKeys
	}
	return 0
}

// appendKeysOfRead appends the keys of a request that is cacheable, none if it is not. isText is
// set if its reply is a string, or null.
func appendKeysOfRead(keys [][]byte, r *send.Request, protocol int) (_ [][]byte, isText bool) {
	info := command.Lookup(r.Cmd)
	if info == nil { // an argument is in Cmd
		return keys, false
	}
	switch at := keysOf(info.Name); {
	case at == 0, protocol == 2 && (at == oneKeyIn3 || asksForNumbers(r)):
		return keys, false
	case at == allKeys:
		return appendArgs(keys, r), false
	default:
		if key := r.Arg(1); key != nil {
			keys = append(keys, key)
		}
		return keys, at == oneKeyText
	}
}

// asksForNumbers reports whether an option of a request asks for scores or coordinates. RESP2 has text
// for them, which can't be made of what a tracker is answered. (Distances are text with RESP3, too.) An
// argument that only looks like such an option counts as one.
func asksForNumbers(r *send.Request) bool {
	for i, word := range r.All {
		if i < 3 || len(word) < len("WITHSCORE") || len(word) > len("WITHSCORES") {
			continue
		}
		switch strings.ToUpper(string(word)) {
		case "WITHSCORE", "WITHSCORES", "WITHCOORD":
			return true
		}
	}
	return false
}

func appendArgs(words [][]byte, r *send.Request) [][]byte {
	for i, word := range r.All {
		if i > 0 {
			words = append(words, word)
		}
	}
	return words
}
