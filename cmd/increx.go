package cmd

import "github.com/joomcode/redispipe/redisreply"

// IncrExBy is INCREX with BYINT or BYFLOAT: it increments the number of a key, within bounds, and sets
// the key's expiration. It is not an error if a bound prevents the increment: see
// [redisreply.Incremented].
//
//	INCREX key [EX after | PX after | EXAT at | PXAT at | PERSIST] BYINT by | BYFLOAT by [SATURATE] [LBOUND lowerbound] [UBOUND upperbound] [ENX]
//
// Since Redis 8.8.0. Complexity: O(1).
func IncrExBy[N int64 | float64](key string, by N, expiration GetExExpiration, options ...IncrExOption) Cmd[redisreply.Incremented[N]] {
	c := Cmd[redisreply.Incremented[N]]{request{name: "INCREX"}}
	r := &c.request
	r.add(textOf(key))
	putGetExExpiration(r, expiration)
	switch by := any(by).(type) {
	case int64:
		r.token("BYINT")
		r.add(intOf(by))
	case float64:
		r.token("BYFLOAT")
		r.add(floatOf(by))
	}
	putIncrExOptions(r, options)
	return c
}
