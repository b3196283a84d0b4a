package redisvirtual

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/backend"
	"github.com/joomcode/redispipe/internal/lab/drill"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redisvirtual/internal/proto"
	"github.com/joomcode/redispipe/testbed"
)

const sha = "e0e1f9fabfc9d4800c877a703b823ac0578ff8db" // the SHA1 of the script "return 1"

func clusterOf(t *testing.T, nodes *testbed.Cluster, opts redisconn.Opts) *rediscluster.Cluster {
	opts.IOTimeout = time.Minute
	cluster, err := rediscluster.NewCluster(context.Background(), nodes.Addrs(), rediscluster.Opts{Logger: rediscluster.NoopLogger{}, HostOpts: opts})
	require.NoError(t, err)
	t.Cleanup(cluster.Close)
	return cluster
}

// list reads an array of strings.
func (c *client) list() (words []string) {
	c.t.Helper()
	frame := strings.Split(c.frame(), "\r\n")
	for i := 2; i < len(frame); i += 2 {
		words = append(words, frame[i])
	}
	return words
}

// scan returns the keys that SCAN finds. It makes each step on a different connection.
func scan(t *testing.T, virtual func() *client, args ...string) (keys []string) {
	for cursor := ""; cursor != "0"; {
		v := virtual()
		v.say(words(append([]string{"SCAN", max(cursor, "0")}, args...)...))
		line, err := v.r.ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, "*2\r\n", line)
		cursor = strings.Split(v.frame(), "\r\n")[1]
		keys = append(keys, v.list()...)
		require.NoError(t, v.Close())
	}
	slices.Sort(keys)
	return keys
}

// Over a cluster, the answer to a command that concerns all masters is the one that a single server with all
// keys would give.
func TestShards(t *testing.T) {
	nodes := testbed.NewCluster(t, testbed.ClusterOptions{Replicas: -1})
	for _, protocol := range []int{2, 3} {
		cluster := clusterOf(t, nodes, redisconn.Opts{Protocol: protocol})
		virtual := func() *client {
			v := over(t, cluster)
			if protocol == 3 {
				v.say(words("HELLO", "3"))
				v.frame()
			}
			return v
		}
		v := virtual()
		v.say(words("FLUSHALL") + words("DBSIZE"))
		v.hear(proto.OK + ":0\r\n")
		var all, some []string
		for i := range 300 {
			key := fmt.Sprint("key", i)
			all = append(all, key)
			v.say(words("SET", key, "v"))
		}
		v.say(words("DBSIZE") + words("GET", "key1")) // the replies of a pipeline keep their order
		for range all {
			v.hear(proto.OK)
		}
		v.hear(":300\r\n$1\r\nv\r\n")
		slices.Sort(all)
		for _, key := range all {
			if strings.HasPrefix(key, "key1") {
				some = append(some, key)
			}
		}
		v.say(words("KEYS", "*"))
		keys := v.list()
		slices.Sort(keys)
		require.Equal(t, all, keys)
		require.Equal(t, all, scan(t, virtual))
		require.Equal(t, some, scan(t, virtual, "MATCH", "key1*", "COUNT", "7"))
		require.Empty(t, scan(t, virtual, "TYPE", "list"))

		v.say(words("SCRIPT", "FLUSH") + words("script", "exists", sha) + words("SCRIPT", "LOAD", "return 1") + words("SCRIPT", "EXISTS", sha, "none"))
		v.hear(proto.OK + "*1\r\n:0\r\n$40\r\n" + sha + "\r\n*2\r\n:1\r\n:0\r\n")
		for _, key := range all[:20] {
			v.say(words("EVALSHA", sha, "1", key))
			v.hear(":1\r\n")
		}
		cluster.EachShard(func(s redis.Sender, err error) bool {
			require.NoError(t, err)
			require.Equal(t, "OK", redis.Sync{S: s}.Do("SCRIPT", "FLUSH"))
			return false // only the first master
		})
		v.say(words("SCRIPT", "EXISTS", sha) + words("FLUSHDB", "ASYNC") + words("DBSIZE"))
		v.hear("*1\r\n:0\r\n" + proto.OK + ":0\r\n")
		prefixOverShards(t, cluster, protocol)
	}
}

// A request that can't be answered gets an error with the reason, and the connection still works.
func TestShardsRefuse(t *testing.T) {
	v := over(t, clusterOf(t, testbed.NewCluster(t, testbed.ClusterOptions{Replicas: -1}), redisconn.Opts{}))
	for _, c := range []struct{ say, hear string }{
		{words("SCAN", "x"), "-ERR invalid cursor\r\n"},
		{words("SCAN"), "-ERR wrong number of arguments for 'scan' command\r\n"},
		{words("SCAN", "0", "COUNT", "x"), "-ERR value is not an integer or out of range\r\n"},
		{words("SCRIPT", "LOAD", "("), "-ERR Error compiling script"},
		{words("KEYS"), "-ERR wrong number of arguments for 'keys' command\r\n"},
		{words("CONFIG", "SET", "maxmemory", "0"), "-ERR CONFIG SET has no key to choose a shard by: it concerns every shard: use DoEachShard, or EachShard\r\n"},
		{words("BLPOP", "a", "b", "1"), "-CROSSSLOT "},
		{words("WATCH", "a", "b"), "-CROSSSLOT "},
	} {
		v.say(c.say + words("ECHO", "next"))
		require.Contains(t, v.frame(), c.hear)
		v.hear("$4\r\nnext\r\n")
	}
	v.say(words("MULTI") + words("GET", "a") + words("FLUSHALL") + words("EXEC") + words("WATCH", "a") + words("DBSIZE") + words("UNWATCH"))
	v.hear(proto.OK + proto.Queued + "-ERR FLUSHALL concerns every master, and a transaction runs on one\r\n")
	require.Contains(t, v.frame(), "-EXECABORT ")
	v.hear(proto.OK + "-ERR DBSIZE concerns every master, and a transaction runs on one\r\n" + proto.OK)
}

// A transaction with keys of two slots is refused at EXEC, and later requests get their own
// replies.
func TestTransactionOfTwoSlots(t *testing.T) {
	v := over(t, clusterOf(t, testbed.NewCluster(t, testbed.ClusterOptions{Replicas: -1}), redisconn.Opts{}))
	const crossSlot = "-CROSSSLOT Keys in request don't hash to the same slot\r\n"
	parts := []string{words("MULTI"), words("INCR", "a"), words("INCR", "b"), words("EXEC"), words("ECHO", "next")}
	for range 3 {
		v.say(strings.Join(parts, ""))
		v.hear(proto.OK + proto.Queued + proto.Queued + crossSlot + "$4\r\nnext\r\n")
		for i, part := range parts {
			v.say(part)
			v.hear([]string{proto.OK, proto.Queued, proto.Queued, crossSlot, "$4\r\nnext\r\n"}[i])
		}
	}
	v.say(words("WATCH", "a") + strings.Join(parts, ""))
	v.hear(proto.OK + proto.OK)
	for range 2 { // the second key may belong to another master
		require.Regexp(t, `^(\+QUEUED|-MOVED .*)\r\n$`, v.frame())
	}
	require.Regexp(t, `^-(CROSSSLOT|EXECABORT) `, v.frame())
	v.hear("$4\r\nnext\r\n")
	v.say(words("GET", "a"))
	v.hear("$-1\r\n")
}

// A SCAN finds all keys while masters are replaced and slots move, except keys that move to a master
// that was already scanned.
func TestScanOfChangingCluster(t *testing.T) {
	drill.Rotate(t)
	nodes := testbed.NewCluster(t)
	cluster := clusterOf(t, nodes, redisconn.Opts{})
	v := over(t, cluster)
	var all []string
	for i := range 300 {
		all = append(all, fmt.Sprint("key", i))
		v.say(words("SET", all[i], "v"))
		v.hear(proto.OK)
	}
	masterOf := func(slot int) *testbed.Node {
		owner, err := nodes.Owner(slot)
		require.NoError(t, err)
		return owner
	}
	known := func(slot int) {
		require.NoError(t, nodes.WaitAgreed())
		addr := masterOf(slot).Addr()
		require.Eventually(t, func() bool {
			cluster.ForceReloading()
			return backend.NodesOf(cluster).Master(slot).Addr() == addr
		}, time.Minute, time.Millisecond)
	}
	failover := func(slot int) {
		replicas, err := nodes.Replicas(masterOf(slot))
		require.NoError(t, err)
		require.NoError(t, nodes.Failover(replicas[0], testbed.Graceful))
		known(slot)
	}
	changes := []func(){
		func() { failover(0) },     // the master that SCAN is walking
		func() { failover(16383) }, // a master that SCAN will walk later
		func() {
			require.NoError(t, nodes.MoveSlot(0, masterOf(16383)))
			known(0)
		},
		func() {
			require.NoError(t, nodes.MoveSlot(16383, masterOf(1)))
			known(16383)
		},
	}
	seen := map[string]int{}
	for cursor := ""; cursor != "0"; {
		v.say(words("SCAN", max(cursor, "0"), "COUNT", "3"))
		_, err := v.r.ReadString('\n')
		require.NoError(t, err)
		cursor = strings.Split(v.frame(), "\r\n")[1]
		for _, key := range v.list() {
			seen[key]++
		}
		if len(changes) > 0 {
			changes[0]()
			changes = changes[1:]
		}
	}
	require.Empty(t, changes)
	require.Len(t, seen, len(all))
}
