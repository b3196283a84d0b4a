package redisreply_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redisreply"
	"github.com/joomcode/redispipe/testbed"
)

// knows reports whether the server has a command, which is written as command|subcommand.
func knows(t *testing.T, db redis.Sync, name string) bool {
	infos, err := redis.As[[]*redisreply.Command](db.Do("COMMAND INFO", name))
	require.NoError(t, err)
	return infos[0] != nil
}

func TestLiveLinks(t *testing.T) {
	testbed.Needs(t, testbed.Version(7, 0))
	cluster := testbed.NewCluster(t)
	for protocol := 2; protocol <= 3; protocol++ {
		conn, err := redisconn.Connect(t.Context(), cluster.Addrs()[0], redisconn.Opts{Protocol: protocol, IOTimeout: time.Minute, Logger: redisconn.NoopLogger{}})
		require.NoError(t, err)
		defer conn.Close()
		links, err := redis.As[[]redisreply.Link](redis.Sync{S: conn}.Do("CLUSTER LINKS"))
		require.NoError(t, err)
		require.NotEmpty(t, links)
		for _, link := range links {
			require.Contains(t, []string{"to", "from"}, link.Direction)
			require.Len(t, link.Node, 40)
			require.Contains(t, link.Events, "r")
			require.WithinDuration(t, time.Now(), link.Created, time.Hour)
		}
	}
}

func TestLiveSlotStats(t *testing.T) {
	inBoth(t, []string{"cluster-enabled yes"}, func(t *testing.T, db redis.Sync) {
		if !knows(t, db, "cluster|slot-stats") {
			t.Skip("the server lacks CLUSTER SLOT-STATS")
		}
		db.Do("CLUSTER ADDSLOTSRANGE", 0, 100)
		stats, err := redis.As[[]redisreply.SlotStats](db.Do("CLUSTER SLOT-STATS", "SLOTSRANGE", 3, 4))
		require.NoError(t, err)
		require.Len(t, stats, 2)
		require.Equal(t, 4, stats[1].Slot)
		require.Contains(t, stats[1].Stats, "key-count")
	})
}

func TestLiveCommandLog(t *testing.T) {
	inBoth(t, nil, func(t *testing.T, db redis.Sync) {
		if !knows(t, db, "commandlog|get") {
			t.Skip("the server lacks COMMANDLOG")
		}
		require.Equal(t, "OK", db.Do("CONFIG SET", "commandlog-request-larger-than", 10))
		db.Do("GET", "a key of some length")
		var logged []redisreply.LoggedCommand
		require.NoError(t, db.DoInto(&logged, "COMMANDLOG GET", 1, "large-request"))
		require.Len(t, logged, 1)
		require.Equal(t, []string{"GET", "a key of some length"}, logged[0].Args)
		require.Greater(t, logged[0].Amount, int64(20))
		require.WithinDuration(t, time.Now(), logged[0].Time, time.Hour)
	})
}
