package testbed

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/lab/drill"
)

func TestGroupReplicatesAndPromotes(t *testing.T) {
	t.Parallel()
	g := NewGroup(t, GroupOptions{Options: Options{Password: "secret", Persist: true}, Replicas: 2})
	master, err := g.Master()
	require.NoError(t, err)
	require.Same(t, g.Servers()[0], master)
	require.Equal(t, "OK", master.Do("SET", "key", "value"))
	require.NoError(t, g.WaitReplicas(master))

	replica := g.Replicas(master)[0]
	require.Equal(t, []byte("value"), replica.Do("GET", "key"))
	require.NoError(t, g.Promote(replica))
	promoted, err := g.Master()
	require.NoError(t, err)
	require.Same(t, replica, promoted)

	require.NoError(t, promoted.Restart())
	require.NoError(t, g.WaitReplicas(promoted), "a restarted server keeps its data, and its replicas")
	require.Equal(t, []byte("value"), promoted.Do("GET", "key"))
}

func TestSentinelsFailOver(t *testing.T) {
	drill.Rotate(t)
	t.Parallel()
	g := NewGroup(t, GroupOptions{
		Options: Options{Password: "secret", Persist: true}, SentinelOptions: Options{Password: "other"},
		Replicas: 1, Sentinels: 3,
	})
	old := g.Servers()[0]
	require.Equal(t, "OK", old.Do("SET", "key", "value"))
	promoted, err := g.Failover(Graceful)
	require.NoError(t, err)
	require.Same(t, g.Servers()[1], promoted)
	require.Equal(t, []byte("value"), promoted.Do("GET", "key"))

	require.NoError(t, g.Sentinels()[0].Restart(), "a sentinel keeps what it knows")
	require.NoError(t, g.WaitSentinels(promoted))

	require.NoError(t, promoted.Kill())
	next, err := g.WaitPromoted(promoted)
	require.NoError(t, err)
	require.Same(t, old, next)
}

func TestGroupsShareSentinelsAndHaveHostnames(t *testing.T) {
	drill.Rotate(t)
	t.Parallel()
	g := NewGroup(t, GroupOptions{Hostname: "localhost", Replicas: 1, Sentinels: 3})
	other := NewGroup(t, GroupOptions{
		Options: Options{Password: "secret"}, Hostname: "localhost",
		MasterName: "other", Replicas: 1, WatchedBy: g,
	})
	require.Contains(t, other.Addrs()[0], "localhost:")
	promoted, err := other.Failover(Graceful)
	require.NoError(t, err)
	require.Same(t, other.Servers()[1], promoted)
	require.NoError(t, g.WaitSentinels(g.Servers()[0]), "nothing changes for the first group")
}
