package rediscluster_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/lab/drill"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster"
	"github.com/joomcode/redispipe/testbed"
)

// strayGroup returns a group whose master has newer writes than the data that replica has saved.
func strayGroup(t *testing.T, replicas int) (g *testbed.Group, replica *testbed.Server) {
	t.Helper()
	g = testbed.NewGroup(t, testbed.GroupOptions{Replicas: replicas})
	replica = g.Servers()[replicas]
	require.Equal(t, int64(1), g.Servers()[0].Do("INCR", "n"))
	require.NoError(t, g.WaitReplicas(g.Servers()[0]))
	require.Equal(t, "OK", replica.Do("SAVE"))
	return g, replica
}

// goAstray restarts a replica as a master, with the data that it has saved.
func goAstray(t *testing.T, replica *testbed.Server) {
	t.Helper()
	answer, ok := replica.Do("CONFIG GET", "dir").([]any)
	require.True(t, ok)
	conf := filepath.Join(string(asBytes(answer[1])), "redis.conf")
	require.NoError(t, replica.Kill())
	text, err := os.ReadFile(conf)
	require.NoError(t, err)
	var kept []byte
	for line := range bytes.Lines(text) {
		if !bytes.HasPrefix(line, []byte("replicaof ")) {
			kept = append(kept, line...)
		}
	}
	require.NoError(t, os.WriteFile(conf, kept, 0o600))
	require.NoError(t, replica.Restart())
	info := string(asBytes(replica.Do("INFO", "replication")))
	require.Equal(t, "master", infoLine(info, "role"))
}

// asksAll waits until a client has asked all servers two more times.
func asksAll(t *testing.T, c *rediscluster.Cluster) {
	t.Helper()
	// One refresh may be running, and another may already be due.
	until := c.Stats().Refreshes + 3
	require.Eventually(t, func() bool { return c.Stats().Refreshes >= until }, patience, time.Millisecond)
}

// strayWrites returns how often a server has run INCR since it was started.
func strayWrites(s *testbed.Server) string {
	stats := infoLine(string(asBytes(s.Do("INFO", "commandstats"))), "cmdstat_incr")
	calls, _, _ := strings.Cut(strings.TrimPrefix(stats, "calls="), ",")
	return calls
}

// A replica that is restarted as a master while its own master still runs looks as if it had been promoted.
// The client writes nothing to it, for one of three reasons: another replica follows the real master, the
// real master has newer writes, or the client knew the restarted server as a replica.
func TestReplicatedKeepsToTheMasterBesideAStray(t *testing.T) {
	drill.Rotate(t)
	t.Parallel()
	for name, replicas := range map[string]int{"with another replica": 2, "alone": 1, "alone, and nothing is written": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, stray := strayGroup(t, replicas)
			c := newReplicated(t, g.Addrs(), rediscluster.Opts{CheckInterval: 100 * time.Millisecond})
			db := redis.Sync{S: c}
			require.Equal(t, int64(2), db.Do("INCR", "n"))
			if name == "alone, and nothing is written" {
				require.NoError(t, g.WaitReplicas(g.Servers()[0]))
				require.Equal(t, "OK", stray.Do("SAVE"))
			}
			goAstray(t, stray)
			asksAll(t, c)
			require.Equal(t, int64(3), db.Do("INCR", "n"))
			require.Empty(t, strayWrites(stray))

			host, port := splitAddr(g.Addrs()[0])
			require.NoError(t, redis.AsError(stray.Do("REPLICAOF", host, port)))
			require.NoError(t, g.WaitReplicas(g.Servers()[0]))
			asksAll(t, c)
			require.Equal(t, int64(4), db.Do("INCR", "n"))
		})
	}
}

// Without another replica, a client can't know that the restarted server was not promoted. With
// StopOnManyMasters it writes to neither server until the restarted one is a replica again.
func TestReplicatedMayStopBesideAStray(t *testing.T) {
	t.Parallel()
	g, stray := strayGroup(t, 1)
	c := newReplicated(t, g.Addrs(), rediscluster.Opts{CheckInterval: 100 * time.Millisecond, StopOnManyMasters: true})
	db := redis.Sync{S: c}
	require.Equal(t, int64(2), db.Do("INCR", "n"))
	goAstray(t, stray)
	require.Eventually(t, func() bool {
		err := redis.AsErrorx(db.Do("INCR", "n"))
		return err != nil && err.IsOfType(rediscluster.ErrNoAliveConnection) && err.HasTrait(redis.ErrTraitNotSent)
	}, patience, time.Millisecond)
	require.Empty(t, strayWrites(stray))

	host, port := splitAddr(g.Addrs()[0])
	require.NoError(t, redis.AsError(stray.Do("REPLICAOF", host, port)))
	require.Eventually(t, func() bool { return redis.AsError(db.Do("INCR", "n")) == nil }, patience, time.Millisecond)
}
