package rediscluster_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

// calls returns how often a server has run GET.
func calls(s *testbed.Server) int {
	info, _ := s.Do("INFO", "commandstats").([]byte)
	count, _, _ := strings.Cut(infoLine(string(info), "cmdstat_get"), ",")
	n, _ := strconv.Atoi(strings.TrimPrefix(count, "calls="))
	return n
}

// readsFrom waits until many reads in a row go to the server want. On a busy machine that server may be
// silent for a moment, and then reads go elsewhere for a while.
func readsFrom(t *testing.T, c *rediscluster.Cluster, want *testbed.Server) {
	t.Helper()
	db := redis.Sync{S: c.WithPolicy(rediscluster.MasterAndSlaves)}
	const many = 16
	require.Eventually(t, func() bool {
		before := calls(want)
		for range many {
			if redis.AsError(db.Do("GET", "key")) != nil {
				return false
			}
		}
		return calls(want)-before == many
	}, patience, 10*time.Millisecond)
}

func TestReadsStayInTheZone(t *testing.T) {
	t.Parallel()
	g := testbed.NewGroup(t, testbed.GroupOptions{Options: testbed.Options{Persist: true}})
	zones := map[string]string{g.Addrs()[0]: "a", g.Addrs()[1]: "b", g.Addrs()[2]: "c"}
	zoneOf := func(addr string) string { return zones[addr] }
	for i, zone := range []string{"a", "b"} {
		c := newReplicated(t, g.Addrs(), rediscluster.Opts{
			Zone: zone, ZoneOf: zoneOf, CheckInterval: 100 * time.Millisecond,
			HostOpts: redisconn.Opts{ReconnectPause: 10 * time.Millisecond},
		})
		readsFrom(t, c, g.Servers()[i])
		if zone == "b" { // no read fails when the local server dies, and reads return when it is back
			local := g.Servers()[i]
			require.NoError(t, local.Kill())
			for range 100 {
				require.NoError(t, redis.AsError(redis.Sync{S: c.WithPolicy(rediscluster.MasterAndSlaves)}.Do("GET", "key")))
			}
			require.NoError(t, local.Restart())
			readsFrom(t, c, local)
		}
	}
}

func TestServersTellTheirZones(t *testing.T) {
	t.Parallel()
	g := testbed.NewGroup(t)
	for i, s := range g.Servers() {
		if err := redis.AsError(s.Do("CONFIG SET", "availability-zone", string(rune('a'+i)))); err != nil {
			t.Skip("the server knows no zones: ", err)
		}
	}
	c := newReplicated(t, g.Addrs(), rediscluster.Opts{Zone: "c"})
	readsFrom(t, c, g.Servers()[2])
	// If no node is in the zone, reads go to all nodes.
	c = newReplicated(t, g.Addrs(), rediscluster.Opts{Zone: "elsewhere"})
	require.Eventually(t, func() bool {
		res := redis.Sync{S: c.WithPolicy(rediscluster.MasterAndSlaves)}.Do("MGET", "a", "b")
		answered := reads(g)
		return redis.AsError(res) == nil && answered[0] && answered[1] && answered[2]
	}, patience, time.Millisecond)
}

// If the function panics, the zone is unknown: reads go to all nodes.
func TestZoneOfPanics(t *testing.T) {
	g := testbed.NewGroup(t)
	c := newReplicated(t, g.Addrs(), rediscluster.Opts{Zone: "a", ZoneOf: func(string) string { panic("of the user's") }})
	require.Eventually(t, func() bool {
		res := redis.Sync{S: c.WithPolicy(rediscluster.MasterAndSlaves)}.Do("MGET", "a", "b")
		return redis.AsError(res) == nil && !slices.Contains(reads(g), false)
	}, patience, time.Millisecond)
}
