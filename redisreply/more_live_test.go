package redisreply_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redisreply"
	"github.com/joomcode/redispipe/testbed"
)

// inBoth runs a test with a server of a current version, in both versions of the protocol.
func inBoth(t *testing.T, config []string, test func(t *testing.T, db redis.Sync)) {
	testbed.Needs(t, testbed.Version(7, 0))
	s := testbed.NewServer(t, testbed.Options{Config: config})
	for protocol := 2; protocol <= 3; protocol++ {
		t.Run(fmt.Sprint("RESP", protocol), func(t *testing.T) {
			conn, err := redisconn.Connect(t.Context(), s.Addr(), redisconn.Opts{Protocol: protocol, IOTimeout: time.Minute, Logger: redisconn.NoopLogger{}})
			require.NoError(t, err)
			defer conn.Close()
			test(t, redis.Sync{S: conn})
		})
	}
}

func TestLiveLibraries(t *testing.T) {
	inBoth(t, nil, func(t *testing.T, db redis.Sync) {
		const code = "#!lua name=lib\nredis.register_function{function_name='f', callback=function() end, flags={'no-writes'}}"
		require.Equal(t, []byte("lib"), db.Do("FUNCTION LOAD", "REPLACE", code))
		var libraries []redisreply.Library
		require.NoError(t, db.DoInto(&libraries, "FUNCTION LIST", "WITHCODE"))
		require.Equal(t, []redisreply.Library{{
			Name: "lib", Engine: "LUA", Code: code,
			Functions: []redisreply.Function{{Name: "f", Flags: []string{"no-writes"}}},
		}}, libraries)

		var keys []redisreply.KeyFlags
		require.NoError(t, db.DoInto(&keys, "COMMAND GETKEYSANDFLAGS", "GET", "k"))
		require.Equal(t, []redisreply.KeyFlags{{Key: "k", Flags: []string{"RO", "access"}}}, keys)

		var tracking redisreply.Tracking
		require.NoError(t, db.DoInto(&tracking, "CLIENT TRACKINGINFO"))
		require.Equal(t, redisreply.Tracking{Flags: []string{"off"}, Redirect: -1, Prefixes: []string{}}, tracking)

		require.Equal(t, "OK", db.Do("MSET", "a", "ohmytext", "b", "mynewtext"))
		var common redisreply.Common
		require.NoError(t, db.DoInto(&common, "LCS", "a", "b", "IDX"))
		require.Equal(t, redisreply.Common{Len: 6, Matches: []redisreply.Match{
			{A: redisreply.Span{First: 4, Last: 7}, B: redisreply.Span{First: 5, Last: 8}},
			{A: redisreply.Span{First: 2, Last: 3}, B: redisreply.Span{First: 0, Last: 1}},
		}}, common)
		require.NoError(t, db.DoInto(&common, "LCS", "a", "b", "IDX", "WITHMATCHLEN"))
		require.EqualValues(t, 4, common.Matches[0].Len)
	})
}

func TestLiveLatency(t *testing.T) {
	config := []string{"latency-monitor-threshold 1", "enable-debug-command yes"}
	inBoth(t, config, func(t *testing.T, db redis.Sync) {
		require.Equal(t, "OK", db.Do("DEBUG", "SLEEP", 0.02))
		var events []redisreply.LatencyEvent
		require.NoError(t, db.DoInto(&events, "LATENCY LATEST"))
		require.Len(t, events, 1)
		require.Equal(t, "command", events[0].Name)
		require.GreaterOrEqual(t, events[0].Highest, 20*time.Millisecond)
		var samples []redisreply.LatencySample
		require.NoError(t, db.DoInto(&samples, "LATENCY HISTORY", "command"))
		require.NotEmpty(t, samples)
		require.False(t, samples[0].Time.IsZero())
		require.Positive(t, samples[0].Took)
		var calls map[string]redisreply.Histogram
		require.NoError(t, db.DoInto(&calls, "LATENCY HISTOGRAM", "debug"))
		require.Positive(t, calls["debug"].Calls)
		require.NotEmpty(t, calls["debug"].Within)
	})
}

func TestLiveCluster(t *testing.T) {
	inBoth(t, []string{"cluster-enabled yes"}, func(t *testing.T, db redis.Sync) {
		db.Do("CLUSTER ADDSLOTSRANGE", 0, 100, 200, 300)
		var owners []redisreply.SlotOwner
		require.NoError(t, db.DoInto(&owners, "CLUSTER SLOTS"))
		require.Len(t, owners, 2)
		require.Equal(t, [2]int{200, 300}, [2]int{owners[1].First, owners[1].Last})
		require.Len(t, owners[1].Nodes, 1)
		require.Positive(t, owners[1].Nodes[0].Port)
		require.Len(t, owners[1].Nodes[0].ID, 40)
		var shards []redisreply.Shard
		require.NoError(t, db.DoInto(&shards, "CLUSTER SHARDS"))
		require.Len(t, shards, 1)
		require.Equal(t, []int{0, 100, 200, 300}, shards[0].Slots)
		require.Len(t, shards[0].Nodes, 1)
		require.Equal(t, "master", shards[0].Nodes[0].Role)
		require.Equal(t, owners[0].Nodes[0].ID, shards[0].Nodes[0].ID)
		require.Equal(t, owners[0].Nodes[0].Port, shards[0].Nodes[0].Port)
	})
}

// A node that does not know its own host returns null.
func TestSlotNodeWithoutHost(t *testing.T) {
	owner, err := redis.As[redisreply.SlotOwner]([]any{int64(0), int64(9), []any{nil, int64(7000), []byte("id"), []any{}}})
	require.NoError(t, err)
	require.Equal(t, redisreply.SlotOwner{Last: 9, Nodes: []redisreply.SlotNode{{Port: 7000, ID: "id"}}}, owner)
	_, err = redis.As[redisreply.SlotOwner]([]byte("text"))
	require.Error(t, err)
}

// MODULE LIST is tested with the reply of a server that has modules.
func TestModules(t *testing.T) {
	for _, reply := range []any{
		[]any{[]byte("name"), []byte("graph"), []byte("ver"), int64(41201), []byte("path"), []byte("/graph.so"), []byte("args"), []any{[]byte("A")}},
		[]any{[]byte("name"), []byte("graph"), []byte("ver"), int64(41201)}, // the form of Redis 6
	} {
		modules, err := redis.As[[]redisreply.Module]([]any{reply})
		require.NoError(t, err)
		require.Equal(t, "graph", modules[0].Name)
		require.EqualValues(t, 41201, modules[0].Version)
		require.Equal(t, len(reply.([]any)) > 4, len(modules[0].Args) == 1)
	}
}
