package rediscluster

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/lab/drill"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster/redisclusterutil"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redisdumb"
	"github.com/joomcode/redispipe/redistest/chaos"
	"github.com/joomcode/redispipe/testbed"
)

// scanAll runs a whole scan, and returns how often each element came. It calls between after each step.
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

// CLUSTERSCAN goes from node to node. Any client can continue a scan with its cursor.
func TestClusterScan(t *testing.T) {
	testbed.Needs(t, testbed.ClusterScan)
	tb := sharedCluster(t)
	c, _ := connect(t, tb.Addrs(), calm)
	opts := redis.ScanOpts{Cmd: "CLUSTERSCAN", Count: 10}
	assert.Empty(t, scanAll(t, c, opts, func() {}))
	for i := range 500 {
		require.Equal(t, "OK", redis.Sync{S: c}.Do("SET", fmt.Sprintf("key:%d", i), i))
	}
	steps := 0
	assert.Len(t, scanAll(t, c.WithPolicy(PreferSlaves), opts, func() { steps++ }), 500)
	assert.Greater(t, steps, 20)
	opts.Match = "key:1??"
	keys := map[string]bool{}
	for key, err := range redis.Keys(t.Context(), c, opts) {
		require.NoError(t, err)
		keys[key] = true
	}
	assert.Len(t, keys, 100)

	found := map[string]bool{}
	var cursor []byte
	for string(cursor) != "0" {
		c, _ := connect(t, tb.Addrs(), calm)
		for range 20 {
			it, keys, err := redis.ScanResponse(redis.Sync{S: c}.Send(redis.ScanOpts{Cmd: "CLUSTERSCAN"}.Request(cursor)))
			require.NoError(t, err)
			for _, key := range keys {
				found[key] = true
			}
			if cursor = it; string(cursor) == "0" {
				break
			}
		}
		c.Close()
	}
	assert.Len(t, found, 500)
}

// A cursor of SCAN is invalid on another server: after a failover the walk of the shard begins
// again.
func TestScanOverFailover(t *testing.T) { scanOverFailover(t, "SCAN") }

// A cursor of CLUSTERSCAN leads to the master of its slot.
func TestClusterScanOverFailover(t *testing.T) {
	testbed.Needs(t, testbed.ClusterScan)
	scanOverFailover(t, "CLUSTERSCAN")
}

func scanOverFailover(t *testing.T, cmd string) {
	t.Parallel()
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
	found := scanAll(t, c, redis.ScanOpts{Cmd: cmd, Count: 10}, func() {
		if steps++; steps != 5 {
			return
		}
		require.NoError(t, tb.Failover(tb.Node(3), testbed.Graceful))
		require.NoError(t, tb.WaitAgreed())
		c.ForceReloading()
		awaitOwner(t, c, 0, tb.Node(3))
	})
	assert.Len(t, found, 600)
}

// TestScanAfterAnError: with all senders, the next call repeats the step.
func TestScanAfterAnError(t *testing.T) {
	play := func() chaos.ScriptedHandler {
		var failed atomic.Bool
		return func(c *chaos.ScriptedConn, r chaos.ScriptedRequest) error {
			reply := "*2\r\n$1\r\n0\r\n*1\r\n$1\r\nb\r\n"
			switch {
			case r.Cmd == "CLUSTER" || r.Cmd == "INFO":
				reply = "-ERR no\r\n"
			case r.Args[0] == "0":
				reply = "*2\r\n$1\r\n5\r\n*1\r\n$1\r\na\r\n"
			case failed.CompareAndSwap(false, true):
				reply = "-ERR later\r\n"
			}
			_, err := c.Write([]byte(reply))
			return err
		}
	}
	conn, err := redisconn.Connect(context.Background(), chaos.NewScripted(t, chaos.ScriptedOpts{Handler: play()}).Addr(),
		redisconn.Opts{Logger: redisconn.NoopLogger{}})
	require.NoError(t, err)
	defer conn.Close()
	dumb := &redisdumb.Conn{Addr: chaos.NewScripted(t, chaos.ScriptedOpts{Handler: play()}).Addr()}
	defer dumb.Close()
	node := newScriptedNode(t, play())
	cluster, _ := connect(t, []string{node.Addr()}, calm)
	for name, s := range map[string]redis.Sender{"connection": conn, "dumb": dumb, "cluster": cluster} {
		it := redis.Sync{S: s}.Scanner(redis.ScanOpts{})
		keys, err := it.Next()
		require.NoError(t, err, name)
		assert.Equal(t, []string{"a"}, keys, name)
		_, err = it.Next()
		isType(t, redis.ErrResult, err)
		keys, err = it.Next()
		require.NoError(t, err, name)
		assert.Equal(t, []string{"b"}, keys, name)
		for range 2 {
			_, err = it.Next()
			assert.Equal(t, redis.ScanEOF, err, name)
		}
	}
}

// scanKeys returns how many keys a scan must find while slots move. SCAN_KEYS=1000000 sets the number.
func scanKeys() int {
	if n, err := strconv.Atoi(os.Getenv("SCAN_KEYS")); err == nil {
		return n
	}
	return 6000
}

// A cursor is also invalid after a restart of the server.
func TestScanOverRestart(t *testing.T) {
	drill.Rotate(t)
	t.Parallel()
	tb := testbed.NewCluster(t, testbed.ClusterOptions{Replicas: -1, Options: testbed.Options{Persist: true}})
	c, _ := connect(t, tb.Addrs(), Opts{})
	const keys = 1500
	var reqs []redis.Request
	for i := range keys {
		reqs = append(reqs, redis.Req("SET", fmt.Sprintf("key:%d", i), i))
	}
	require.NoError(t, redis.FirstError(redis.Sync{S: c}.SendMany(reqs)))
	found := map[string]bool{}
	it := redis.Sync{S: c}.Scanner(redis.ScanOpts{Count: 20})
	for restarted := false; ; {
		batch, err := it.Next()
		if err == redis.ScanEOF {
			break
		}
		require.NoError(t, err)
		for _, key := range batch {
			found[key] = true
		}
		if len(found) < keys/6 || restarted {
			continue
		}
		restarted = true
		require.NoError(t, tb.Node(0).Kill())
		require.NoError(t, tb.Node(0).Restart())
		require.Eventually(t, func() bool {
			return redis.FirstError(DoEachShard(t.Context(), c, redis.Req("PING"))) == nil
		}, time.Minute, time.Millisecond)
	}
	assert.Equal(t, keys, len(found))
}

// While a scan runs, half of the slots move, first from masters that the scan has not walked yet to one that
// it has walked. Some moves are left unfinished.
func TestScanOverMigration(t *testing.T) {
	drill.Rotate(t)
	t.Parallel()
	tb := testbed.NewCluster(t)
	c, _ := connect(t, tb.Addrs(), Opts{})
	total := scanKeys()
	const tags = 60 // hash tags, each in a different slot
	var reqs []redis.Request
	for i := range total {
		reqs = append(reqs, redis.Req("SET", fmt.Sprintf("{tag%d}:%d", i%tags, i), i))
		if len(reqs) == 1000 || i == total-1 {
			for _, res := range (redis.Sync{S: c}).SendMany(reqs) {
				require.NoError(t, redis.AsError(res))
			}
			reqs = reqs[:0]
		}
	}
	moving := make(chan int, tags)
	for tag := range tags / 2 {
		moving <- int(redisclusterutil.Slot(fmt.Sprintf("{tag%d}", tag)))
	}
	close(moving)
	moveOne := func() {
		slot, ok := <-moving
		if !ok {
			return
		}
		from, err := tb.Owner(slot)
		require.NoError(t, err)
		masters, err := tb.Masters()
		require.NoError(t, err)
		to := masters[(slices.Index(masters, from)+1+slot%2)%len(masters)]
		if slot%7 == 0 { // leave this slot half migrated
			m, err := tb.BeginMigration(slot, to)
			require.NoError(t, err)
			_, err = m.MoveSome(total / tags / 2)
			require.NoError(t, err)
			return
		}
		require.NoError(t, tb.MoveSlot(slot, to))
	}
	seen := make([]bool, total)
	returned, steps := 0, 0
	for key, err := range redis.Keys(t.Context(), c, redis.ScanOpts{Count: max(10, total/1000)}) {
		require.NoError(t, err)
		var tag, i int
		_, err = fmt.Sscanf(key, "{tag%d}:%d", &tag, &i)
		require.NoError(t, err)
		seen[i] = true
		if returned++; returned%(total/tags) == 0 {
			steps++
			moveOne()
		}
	}
	for i, s := range seen {
		require.True(t, s, "key %d was there all the time", i)
	}
	require.GreaterOrEqual(t, steps, tags/2)
	t.Logf("%d keys, %d returned", total, returned)
}
