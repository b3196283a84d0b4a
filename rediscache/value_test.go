package rediscache

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

// examples returns requests of all cacheable commands, with keys that exist, have the wrong type,
// or are missing.
func examples() (reqs []redis.Request) {
	for _, line := range strings.Split(strings.TrimSpace(`
GET text|GET number|GET none|GET list|GETRANGE text 1 3|SUBSTR text 0 2|STRLEN text|STRLEN none
GETBIT text 3|BITCOUNT text|BITPOS text 1|BITFIELD_RO number GET u8 0|TYPE text|TYPE none
HGET hash f1|HGET hash none|HMGET hash f1 none|HGETALL hash|HGETALL none|HKEYS hash|HVALS hash|HLEN hash
HEXISTS hash f1|HSTRLEN hash f1|LINDEX list 0|LINDEX list 99|LLEN list|LRANGE list 0 -1|LRANGE none 0 -1|LPOS list a
LPOS list none|SCARD set|SISMEMBER set a|SMISMEMBER set a none|SMEMBERS set|SMEMBERS none
ZCARD zset|ZCOUNT zset 1 2|ZLEXCOUNT zset - +|ZSCORE zset a|ZSCORE zset none|ZMSCORE zset a none
ZRANK zset a|ZRANK zset none|ZREVRANK zset a|ZRANGE zset 0 -1|ZRANGE zset 0 -1 WITHSCORES|ZREVRANGE zset 0 -1
ZRANGEBYSCORE zset 1 2|ZRANGEBYSCORE zset 1 2 WITHSCORES|ZREVRANGEBYSCORE zset 2 1|ZRANGEBYLEX zset - +
ZREVRANGEBYLEX zset + -|GEOPOS geo Palermo none|GEODIST geo Palermo Catania|GEODIST geo Palermo none
GEOHASH geo Palermo|GEOSEARCH geo FROMLONLAT 15 37 BYRADIUS 200 km ASC|GEOSEARCH geo FROMLONLAT 15 37 BYRADIUS 200 km ASC WITHDIST
XLEN stream|XRANGE stream - +|XREVRANGE stream + -|MGET text none number|EXISTS text none|SINTER set set|SUNION set none
SDIFF set none`), "\n") {
		for _, text := range strings.Split(line, "|") {
			words := strings.Fields(text)
			args := make([]any, len(words)-1)
			for i, word := range words[1:] {
				args[i] = word
			}
			reqs = append(reqs, redis.Req(words[0], args...))
		}
	}
	return reqs
}

func fill(t testing.TB, db redis.SyncCtx) {
	t.Helper()
	for _, line := range []string{
		"SET text hello", "SET number 123", "HSET hash f1 v1 f2 v2 f3 3", "RPUSH list a b c", "SADD set a b c",
		"ZADD zset 1 a 1.5 b 2 c", "GEOADD geo 13.361389 38.115556 Palermo 15.087269 37.502669 Catania",
		"XADD stream 1-1 field value",
	} {
		words := strings.Fields(line)
		args := make([]any, len(words)-1)
		for i, word := range words[1:] {
			args[i] = word
		}
		must(t, db.Do(t.Context(), words[0], args...))
	}
}

// With either protocol, the result of each request is the same as without a cache, both for a miss and for a
// hit.
func TestSameResults(t *testing.T) {
	t.Parallel()
	server := testbed.NewServer(t)
	other := redis.SyncCtx{S: connect(t, server.Addr(), redisconn.Opts{})}
	fill(t, other)
	known, err := redis.As[[][]any](must(t, other.Do(t.Context(), "COMMAND")))
	require.NoError(t, err)
	for _, protocol := range []int{2, 3} {
		conn := connect(t, server.Addr(), redisconn.Opts{Protocol: protocol, IOTimeout: time.Minute})
		c := cacheOf(t, conn, all)
		awaitLeases(t, c)
		seen := map[string]bool{}
		for _, req := range examples() {
			seen[req.Cmd] = true
			want := redis.SyncCtx{S: conn}.Send(t.Context(), req)
			for range 3 {
				got := c.Do(t.Context(), req.Cmd, req.Args...)
				assertSame(t, want, got, "%v %v with protocol %d", req.Cmd, req.Args, protocol)
				many := c.DoMany(t.Context(), []redis.Request{req})
				assertSame(t, want, many[0], "%v %v with protocol %d", req.Cmd, req.Args, protocol)
			}
		}
		for _, about := range known {
			name, err := redis.As[string](about[0])
			require.NoError(t, err)
			info := command.Lookup(name)
			assert.True(t, info == nil || keysOf(info.Name) == 0 || info.Is(command.ReplicaSafe) && seen[info.Name],
				"%s is cacheable, and not tried", name)
		}
		if st := c.Stats(); protocol == 3 {
			assert.Greater(t, st.Hits, st.Misses)
		}
	}
}

func assertSame(t testing.TB, want, got any, format string, args ...any) {
	t.Helper()
	if err := redis.AsErrorx(want); err != nil {
		failure := redis.AsErrorx(got)
		require.NotNil(t, failure, format, args)
		assert.Equal(t, err.Message(), failure.Message(), fmt.Sprintf(format, args...))
		return
	}
	if flat, ok := want.([]any); ok && strings.HasPrefix(fmt.Sprintf(format, args...), "HGETALL") {
		assert.ElementsMatch(t, flat, got, fmt.Sprintf(format, args...))
		return
	}
	assert.Equal(t, want, got, fmt.Sprintf(format, args...))
}
