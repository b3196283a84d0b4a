package testbed

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/lab/drill"
)

// requireOwner requires that want has slot 0, after all nodes agree.
func requireOwner(t *testing.T, c *Cluster, want *Node) {
	t.Helper()
	require.NoError(t, c.WaitAgreed())
	owner, err := c.Owner(0)
	require.NoError(t, err)
	require.Same(t, want, owner)
}

func TestFailover(t *testing.T) {
	drill.Rotate(t)
	t.Parallel()
	c := NewCluster(t)
	first, second := c.Node(0), c.Node(3)
	requireOwner(t, c, first)

	require.NoError(t, c.Failover(second, Graceful))
	requireOwner(t, c, second)
	require.NoError(t, c.Failover(second, Graceful), "it is master already")
	replicas, err := c.Replicas(second)
	require.NoError(t, err)
	assert.Equal(t, names(first), names(replicas...))

	require.NoError(t, c.Failover(first, Takeover))
	requireOwner(t, c, first)

	require.NoError(t, first.Pause())
	require.NoError(t, c.Failover(second, Force))
	requireOwner(t, c, second)
	require.NoError(t, first.Resume())
	requireOwner(t, c, second)
	requireServes(t, c)
}

func TestMasterDies(t *testing.T) {
	drill.Rotate(t)
	t.Parallel()
	c := NewCluster(t)
	addr, id := c.Node(0).Addr(), c.Node(0).ID()
	require.NoError(t, c.Node(0).Kill())
	requireOwner(t, c, c.Node(3)) // the nodes elected it themselves
	requireServes(t, c)
	masters, err := c.Masters()
	require.NoError(t, err)
	assert.Equal(t, names(c.Node(1), c.Node(2), c.Node(3)), names(masters...))

	require.NoError(t, c.Node(0).Restart())
	require.NoError(t, c.WaitAgreed())
	assert.Equal(t, addr, c.Node(0).Addr())
	assert.Equal(t, []byte(id), c.Node(0).Do("CLUSTER MYID"))
	replicas, err := c.Replicas(c.Node(3))
	require.NoError(t, err)
	assert.Equal(t, names(c.Node(0)), names(replicas...))
}

func TestNodeMovesToAnotherPort(t *testing.T) {
	drill.Rotate(t)
	t.Parallel()
	c := NewCluster(t, ClusterOptions{Masters: 3, Replicas: 1})
	for _, n := range []*Node{c.Node(1), c.Node(3)} {
		addr := n.Addr()
		require.NoError(t, n.RestartElsewhere())
		require.NoError(t, c.WaitAgreed())
		assert.NotEqual(t, addr, n.Addr())
	}
	requireServes(t, c)
}

func TestAddAndRemove(t *testing.T) {
	drill.Rotate(t)
	t.Parallel()
	Needs(t, Version(7, 0)) // see MoveSlot
	c := NewCluster(t, ClusterOptions{Replicas: -1})
	master, err := c.AddMaster()
	require.NoError(t, err)
	assert.Same(t, master, c.Node(3))
	require.NoError(t, c.MoveSlot(0, master))
	requireOwner(t, c, master)

	replica, err := c.AddReplica(master)
	require.NoError(t, err)
	replicas, err := c.Replicas(master)
	require.NoError(t, err)
	assert.Equal(t, names(replica), names(replicas...))

	assert.ErrorContains(t, c.Remove(master), "it has slots or a replica")
	require.NoError(t, c.MoveSlot(0, c.Node(0)))
	assert.ErrorContains(t, c.Remove(master), "it has slots or a replica")
	require.NoError(t, replica.Kill())
	require.NoError(t, c.Remove(replica), "one that is down")
	require.NoError(t, c.Remove(master))
	assert.Len(t, c.Nodes(), 3)
	assert.False(t, master.Running())
	requireServes(t, c)
}
