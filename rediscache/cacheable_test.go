package rediscache

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

// With RESP2 the cache knows before it sends a read whether it can convert the reply from RESP3. So no read
// reaches the server twice.
func TestReadsAreSentOnce(t *testing.T) {
	t.Parallel()
	server := testbed.NewServer(t)
	other := redis.SyncCtx{S: connect(t, server.Addr(), redisconn.Opts{})}
	fill(t, other)
	for _, protocol := range []int{2, 3} {
		conn := connect(t, server.Addr(), redisconn.Opts{Protocol: protocol, IOTimeout: time.Minute})
		c := cacheOf(t, conn, all)
		awaitLeases(t, c)
		for _, req := range append(examples(), withNumbers()...) {
			must(t, other.Do(t.Context(), "CONFIG", "RESETSTAT"))
			if redis.AsError(c.Do(t.Context(), req.Cmd, req.Args...)) == nil { // after an error, the cache also forwards the read
				require.Equal(t, "1", calls(t, other, strings.ToLower(req.Cmd)), "RESP%d: %s %v", protocol, req.Cmd, req.Args)
			}
		}
	}
}

// withNumbers returns reads with options that make the server add scores, distances or coordinates.
func withNumbers() (reqs []redis.Request) {
	for _, line := range []string{
		"ZRANGE zset 1.5 2 BYSCORE WITHSCORES", "ZRANGE zset 0 0 REV withscores", "ZREVRANGE zset 0 -1 WITHSCORES",
		"ZRANGEBYSCORE zset 1 1 WITHSCORES LIMIT 0 1", "ZREVRANGEBYSCORE zset 2 2 WithScores",
		"ZRANK zset a WITHSCORE", "ZREVRANK zset b WITHSCORE", "ZRANK zset WITHSCORE",
		"GEOSEARCH geo FROMLONLAT 15 37 BYRADIUS 201 km WITHCOORD", "GEOSEARCH geo FROMMEMBER Palermo BYRADIUS 1 km WITHDIST WITHHASH",
	} {
		words := strings.Fields(line)
		args := make([]any, len(words)-1)
		for i, word := range words[1:] {
			args[i] = word
		}
		reqs = append(reqs, redis.Req(words[0], args...))
	}
	return reqs
}
