package rediscache

import (
	"strings"

	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/internal/send"
)

// keysAt tells which words of a request are keys.
type keysAt uint8

const (
	oneKey     keysAt = iota + 1 // the first argument
	oneKeyText                   // the first argument, and the reply is a string or null
	oneKeyIn3                    // the first argument, and the RESP2 reply can't be computed from the RESP3 reply
	allKeys                      // all arguments
)

// keysOf returns which words of a cacheable command are keys, and 0 for other commands. The reply of
// a cacheable command depends only on the values of its keys, so it changes only when the server
// invalidates one of these keys. A command is not cacheable if its reply depends on the time (TTL), on
// chance (SRANDMEMBER), on a cursor (HSCAN), on the encoding of a value (OBJECT, DUMP), on the groups of a
// stream, whose changes servers do not report (XPENDING, XINFO), or on keys that the command does not name
// (SORT_RO, scripts).
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

// appendKeysOfRead appends the keys of a request to keys if the request is cacheable. isText is set if
// its reply is a string or null.
func appendKeysOfRead(keys [][]byte, r *send.Request, protocol int) (_ [][]byte, isText bool) {
	info := command.Lookup(r.Cmd)
	if info == nil { // not a known command, for example because Cmd contains an argument
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

// asksForNumbers reports whether an option of a request asks for scores or coordinates. In RESP2 these
// are text, which can't be computed from the numbers in the tracker's RESP3 reply. (Distances are text in
// both.) An argument that only looks like such an option counts as one.
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
