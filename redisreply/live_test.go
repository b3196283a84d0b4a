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

// TestLive reads the replies of a real server, in both versions of the protocol.
func TestLive(t *testing.T) {
	s := testbed.NewServer(t, testbed.Options{Config: []string{"slowlog-log-slower-than 0"}})
	for protocol := 2; protocol <= 3; protocol++ {
		t.Run(fmt.Sprint("RESP", protocol), func(t *testing.T) {
			conn, err := redisconn.Connect(t.Context(), s.Addr(), redisconn.Opts{
				Protocol: protocol, ClientName: "asker", IOTimeout: time.Minute, Logger: redisconn.NoopLogger{},
			})
			require.NoError(t, err)
			defer conn.Close()
			db := redis.Sync{S: conn}
			require.Equal(t, "OK", db.Do("FLUSHALL"))
			places(t, db)
			streams(t, db)
			servers(t, db)
		})
	}
}

func places(t *testing.T, db redis.Sync) {
	db.Do("GEOADD", "cities", 13.361389, 38.115556, "Palermo", 15.087269, 37.502669, "Catania")
	var found []redisreply.Place
	search := []any{"cities", "FROMMEMBER", "Palermo", "BYRADIUS", 200, "km", "ASC"}
	require.NoError(t, db.DoInto(&found, "GEOSEARCH", search...))
	require.Equal(t, []redisreply.Place{{Name: "Palermo"}, {Name: "Catania"}}, found)
	for _, with := range [][]any{{"WITHDIST"}, {"WITHHASH"}, {"WITHCOORD"}, {"WITHCOORD", "WITHDIST", "WITHHASH"}} {
		require.NoError(t, db.DoInto(&found, "GEOSEARCH", append(search[:len(search):len(search)], with...)...))
		require.Len(t, found, 2)
		require.Equal(t, "Catania", found[1].Name)
		want := redisreply.Place{Name: "Catania"}
		for _, what := range with {
			switch what {
			case "WITHDIST":
				want.Distance = 166.2742
			case "WITHHASH":
				want.Hash = 3479447370796909
			case "WITHCOORD":
				want.Point = found[1].Point
				require.InDelta(t, 15.087269, want.Point.Longitude, 1e-5)
				require.InDelta(t, 37.502669, want.Point.Latitude, 1e-5)
			}
		}
		require.Equal(t, want, found[1], "%v", with)
	}
	var points []*redisreply.Point
	require.NoError(t, db.DoInto(&points, "GEOPOS", "cities", "Palermo", "Atlantis"))
	require.Len(t, points, 2)
	require.InDelta(t, 38.115556, points[0].Latitude, 1e-5)
	require.Nil(t, points[1])
}

func streams(t *testing.T, db redis.Sync) {
	db.Do("XGROUP", "CREATE", "jobs", "workers", "0", "MKSTREAM")
	var summary redisreply.PendingSummary
	require.NoError(t, db.DoInto(&summary, "XPENDING", "jobs", "workers"))
	require.Equal(t, redisreply.PendingSummary{}, summary)
	var stream redisreply.Stream
	require.NoError(t, db.DoInto(&stream, "XINFO STREAM", "jobs"))
	require.Equal(t, "0-0", stream.LastGeneratedID)
	require.Nil(t, stream.First)

	db.Do("XADD", "jobs", "1-0", "paint", "door")
	db.Do("XADD", "jobs", "2-0", "paint", "wall")
	db.Do("XREADGROUP", "GROUP", "workers", "ann", "COUNT", 1, "STREAMS", "jobs", ">")
	db.Do("XREADGROUP", "GROUP", "workers", "bob", "COUNT", 1, "STREAMS", "jobs", ">")
	require.NoError(t, db.DoInto(&summary, "XPENDING", "jobs", "workers"))
	require.Equal(t, redisreply.PendingSummary{
		Count: 2, Lowest: "1-0", Highest: "2-0", Consumers: map[string]int64{"ann": 1, "bob": 1},
	}, summary)
	pending, err := redis.As[[]redisreply.PendingEntry](db.Do("XPENDING", "jobs", "workers", "-", "+", 10))
	require.NoError(t, err)
	require.Len(t, pending, 2)
	require.Less(t, pending[1].Idle, time.Hour)
	pending[1].Idle = 0
	require.Equal(t, redisreply.PendingEntry{ID: "2-0", Consumer: "bob", Deliveries: 1}, pending[1])

	require.NoError(t, db.DoInto(&stream, "XINFO STREAM", "jobs"))
	require.EqualValues(t, 2, stream.Length)
	require.EqualValues(t, 1, stream.Groups)
	require.Equal(t, redis.Entry[map[string]string]{ID: "2-0", Value: map[string]string{"paint": "wall"}}, *stream.Last)
	groups, err := redis.As[[]redisreply.Group](db.Do("XINFO", "GROUPS", "jobs"))
	require.NoError(t, err)
	require.Len(t, groups, 1)
	require.Equal(t, redisreply.Group{
		Name: "workers", Consumers: 2, Pending: 2, LastDeliveredID: "2-0",
		EntriesRead: groups[0].EntriesRead, Lag: groups[0].Lag,
	}, groups[0])
	consumers, err := redis.As[[]redisreply.Consumer](db.Do("XINFO", "CONSUMERS", "jobs", "workers"))
	require.NoError(t, err)
	require.Len(t, consumers, 2)
	require.Equal(t, "ann", consumers[0].Name)
	require.Less(t, consumers[0].Idle, time.Hour)
}

func servers(t *testing.T, db redis.Sync) {
	info, err := redis.As[redisreply.Info](db.Do("INFO"))
	require.NoError(t, err)
	require.Contains(t, info["server"], "redis_version")
	require.Equal(t, "master", info["replication"]["role"])
	require.Contains(t, info["keyspace"]["db0"], "keys=")

	for cmd, count := range map[string]int{"LIST": 1, "INFO": 1} {
		clients, err := redis.As[redisreply.Clients](db.Do("CLIENT", cmd))
		require.NoError(t, err)
		require.GreaterOrEqual(t, len(clients), count)
		last := clients[len(clients)-1]
		require.Equal(t, "asker", last.Name)
		require.Positive(t, last.ID)
		require.NotEmpty(t, last.Addr)
		require.Less(t, last.Age, time.Hour)
		require.Contains(t, last.Command, "client")
	}

	db.Do("GET", "slow one")
	var slow []redisreply.SlowCommand
	require.NoError(t, db.DoInto(&slow, "SLOWLOG GET", 1))
	require.Len(t, slow, 1)
	require.Equal(t, []string{"GET", "slow one"}, slow[0].Args)
	require.Equal(t, "asker", slow[0].Name)
	require.WithinDuration(t, time.Now(), slow[0].Time, time.Hour)
	require.Less(t, slow[0].Took, time.Hour)

	var commands []redisreply.Command
	require.NoError(t, db.DoInto(&commands, "COMMAND"))
	require.Greater(t, len(commands), 200)
	var some []*redisreply.Command
	require.NoError(t, db.DoInto(&some, "COMMAND INFO", "get", "nothing"))
	require.Nil(t, some[1])
	require.Equal(t, "get", some[0].Name)
	require.Equal(t, 2, some[0].Arity)
	require.Contains(t, some[0].Flags, "readonly")
	require.Equal(t, []int{1, 1, 1}, []int{some[0].FirstKey, some[0].LastKey, some[0].KeyStep})
	require.Contains(t, some[0].Categories, "@read")
}
