package rediscluster

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/lab/drill"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster/redisclusterutil"
	"github.com/joomcode/redispipe/testbed"
)

// The cursors of HSCAN, SSCAN and ZSCAN are invalid on another server: if the key has moved, or its
// master was replaced, the walk begins again.
func TestScanKeyThatMoves(t *testing.T) {
	drill.Rotate(t)
	t.Parallel()
	tb := testbed.NewCluster(t)
	c, _ := connect(t, tb.Addrs(), Opts{})
	const elements = 2000
	fill := map[string][]any{"HSET": {"{a}hash"}, "SADD": {"{a}set"}, "ZADD": {"{a}sorted"}}
	for i := range elements {
		name := "m" + strconv.Itoa(i)
		fill["HSET"] = append(fill["HSET"], name, "v")
		fill["SADD"] = append(fill["SADD"], name)
		fill["ZADD"] = append(fill["ZADD"], i, name)
	}
	for cmd, args := range fill {
		require.NoError(t, redis.AsError(redis.Sync{S: c}.Do(cmd, args...)))
	}
	slot := int(redisclusterutil.Slot("{a}"))
	owner := func() *testbed.Node {
		owner, err := tb.Owner(slot)
		require.NoError(t, err)
		return owner
	}
	for _, change := range []struct {
		what string
		make func()
	}{
		{"moved", func() {
			masters, err := tb.Masters()
			require.NoError(t, err)
			to := masters[0]
			if to == owner() {
				to = masters[1]
			}
			require.NoError(t, tb.MoveSlot(slot, to))
		}},
		{"replaced", func() { // last, because Redis 6.2 accepts no writes for 10 s after a failover
			replicas, err := tb.Replicas(owner())
			require.NoError(t, err)
			require.NoError(t, tb.Failover(replicas[0], testbed.Graceful))
			require.NoError(t, tb.WaitAgreed())
		}},
	} {
		for cmd, key := range map[string]string{"HSCAN": "{a}hash", "sscan": "{a}set", "ZSCAN": "{a}sorted"} {
			steps := 0
			found := scanAll(t, c, redis.ScanOpts{Cmd: cmd, Key: key, Count: 100}, func() {
				if steps++; steps == 10 {
					change.make()
				}
			})
			missed := 0
			for i := range elements {
				if found["m"+strconv.Itoa(i)] == 0 {
					missed++
				}
			}
			assert.Zero(t, missed, "%s of a key that was %s", cmd, change.what)
		}
	}
}
