package rediscluster

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/testbed"
)

// scanAll returns how often each element came. between is called after each step.
func scanAll(t *testing.T, s redis.Sender, opts redis.ScanOpts, between func()) map[string]int {
	t.Helper()
	it := redis.Sync{S: s}.Scanner(opts)
	found := map[string]int{}
	for {
		keys, err := it.Next()
		if err == redis.ScanEOF {
			_, err = it.Next()
			assert.Equal(t, redis.ScanEOF, err)
			return found
		}
		require.NoError(t, err)
		for _, key := range keys {
			found[key]++
		}
		between()
	}
}

func TestScan(t *testing.T) {
	tb := sharedCluster(t)
	c, _ := connect(t, tb.Addrs(), Opts{})
	assert.Empty(t, scanAll(t, c, redis.ScanOpts{}, func() {}))
	var reqs []redis.Request
	for i := range 1000 {
		reqs = append(reqs, redis.Req("SET", fmt.Sprintf("key:%d", i), i), redis.Req("SADD", "set", i))
	}
	for _, res := range (redis.Sync{S: c}).SendMany(reqs) {
		require.NoError(t, redis.AsError(res))
	}
	assert.Len(t, scanAll(t, c, redis.ScanOpts{Count: 100}, func() {}), 1001)
	assert.Len(t, scanAll(t, c.WithPolicy(PreferSlaves), redis.ScanOpts{Cmd: "scan", Match: "key:1??", Count: 100}, func() {}), 100)
	assert.Len(t, scanAll(t, c, redis.ScanOpts{Cmd: "SSCAN", Key: "set", Count: 100}, func() {}), 1000)
	assert.Empty(t, scanAll(t, c, redis.ScanOpts{Cmd: "HSCAN", Key: "none"}, func() {}))
}

// A cursor is worth nothing to another server: after a failover its shard is
// walked anew.
func TestScanOverFailover(t *testing.T) {
	tb := testbed.NewCluster(t)
	c, _ := connect(t, tb.Addrs(), Opts{})
	var reqs []redis.Request
	for i := range 600 {
		reqs = append(reqs, redis.Req("SET", fmt.Sprintf("key:%d", i), i))
	}
	for _, res := range (redis.Sync{S: c}).SendMany(reqs) {
		require.NoError(t, redis.AsError(res))
	}
	steps := 0
	found := scanAll(t, c, redis.ScanOpts{Count: 10}, func() {
		if steps++; steps != 5 {
			return
		}
		require.NoError(t, tb.Failover(tb.Node(3), testbed.Graceful))
		require.NoError(t, tb.WaitAgreed())
		await(t, "new topology", func() bool {
			c.ForceReloading()
			return c.topology.Load().shard(0).master.addr == tb.Node(3).Addr()
		})
	})
	assert.Len(t, found, 600)
}
