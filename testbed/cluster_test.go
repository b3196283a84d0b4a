package testbed

import (
	"crypto/tls"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/lab/drill"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisdumb"
)

// requireServes writes and reads through the cluster, beginning at the node at addr.
func requireServes(t *testing.T, c *Cluster) {
	t.Helper()
	n, err := c.anyLive()
	require.NoError(t, err)
	conn := &redisdumb.Conn{Addr: n.Addr(), Type: redisdumb.TypeCluster}
	defer conn.Close()
	for i := range 50 {
		key := fmt.Sprintf("serves:%d", i)
		require.Equal(t, "OK", conn.Do("SET", key, i))
		require.Equal(t, fmt.Appendf(nil, "%d", i), conn.Do("GET", key))
	}
}

// names returns the names of nodes, so that nodes can be compared without their contents.
func names(nodes ...*Node) []string {
	list := make([]string, len(nodes))
	for i, n := range nodes {
		list[i] = n.String()
	}
	return list
}

// get reads a key from a node after ASKING, as clients do after an ASK.
func get(n *Node, key string) any {
	conn := &redisdumb.Conn{Addr: n.Addr()}
	defer conn.Close()
	return redis.Sync{S: conn}.SendMany([]redis.Request{redis.Req("ASKING"), redis.Req("GET", key)})[1]
}

func TestCluster(t *testing.T) {
	drill.Rotate(t)
	t.Parallel()
	begin := time.Now()
	c := NewCluster(t)
	t.Logf("up in %v", time.Since(begin))
	require.Len(t, c.Nodes(), 6)
	require.Len(t, c.Addrs(), 6)
	requireServes(t, c)

	masters, err := c.Masters()
	require.NoError(t, err)
	assert.Equal(t, names(c.Nodes()[:3]...), names(masters...))
	for i, master := range masters {
		replicas, err := c.Replicas(master)
		require.NoError(t, err)
		assert.Equal(t, names(c.Node(3+i)), names(replicas...))
	}
	for slot, want := range map[int]int{0: 0, 5460: 0, 5461: 1, 10921: 1, 10922: 2, 16383: 2} {
		owner, err := c.Owner(slot)
		require.NoError(t, err)
		assert.Same(t, c.Node(want), owner, "slot %d", slot)
	}
	_, err = c.Owner(slotCount)
	assert.Error(t, err)
	slot, err := c.Slot("123456789")
	require.NoError(t, err)
	assert.Equal(t, 0x31c3, slot)
}

func TestClusterTLSAndPassword(t *testing.T) {
	Needs(t, TLS)
	t.Parallel()
	c := NewCluster(t, ClusterOptions{Masters: 2, Replicas: 1, Options: Options{TLS: true, Password: "secret"}})
	config, err := c.Node(0).ClientTLS()
	require.NoError(t, err)

	conn := &redisdumb.Conn{Addr: c.TLSAddrs()[0], TLSEnabled: true, TLSConfig: config}
	defer conn.Close()
	require.Equal(t, "OK", conn.Do("AUTH", "secret"))
	slots := conn.Do("CLUSTER SLOTS").([]any)
	require.Len(t, slots, 2)
	owner := slots[0].([]any)[2].([]any)
	assert.Contains(t, c.TLSAddrs(), fmt.Sprintf("%s:%d", owner[0], owner[1]))

	// Keys move between nodes, with TLS and a password.
	require.Equal(t, "OK", c.Node(1).Do("SET", "{a}", "moves"))
	slot, err := c.Slot("{a}")
	require.NoError(t, err)
	require.NoError(t, c.MoveSlot(slot, c.Node(0)))
	assert.Equal(t, []byte("moves"), c.Node(0).Do("GET", "{a}"))

	_, err = tls.Dial("tcp", c.TLSAddrs()[2], config)
	assert.NoError(t, err, "one CA for all nodes")
}

// If a node is too busy to answer its introduction, it is introduced again.
func TestNodesAreIntroducedAgain(t *testing.T) {
	t.Parallel()
	o, err := ClusterOptions{Masters: 2, Replicas: -1}.withDefaults()
	require.NoError(t, err)
	c := &Cluster{opts: o}
	t.Cleanup(c.Close)
	require.NoError(t, c.startNodes(2))
	busy := c.Node(1)
	require.NoError(t, busy.Pause())
	met := make(chan error, 1)
	go func() { met <- c.acquaint() }()
	peers := func() int {
		all, err := c.Node(0).view()
		require.NoError(t, err)
		return len(all)
	}
	require.True(t, waitFor(time.Minute, pollEvery, func() bool { return peers() == 2 }), "it begins to meet the other")
	require.True(t, waitFor(time.Minute, pollEvery, func() bool { return peers() == 1 }), "it has given up")
	require.NoError(t, busy.Resume())
	require.NoError(t, <-met)
}

func TestClusterFailsToStart(t *testing.T) {
	_, err := StartCluster(ClusterOptions{Options: Options{Config: []string{"no-such-directive 1"}}})
	assert.ErrorContains(t, err, "no-such-directive")

	_, err = StartCluster(ClusterOptions{Masters: 2, Replicas: -1, AgreeTimeout: 1})
	assert.ErrorContains(t, err, "no agreement of the cluster in 1ns")
	assert.Equal(t, 2, strings.Count(err.Error(), "Ready to accept connections"), "the logs are told")
}

// Methods of nodes that are down return errors and do not panic.
func TestDeadCluster(t *testing.T) {
	t.Parallel()
	c := NewCluster(t, ClusterOptions{Masters: 1, Replicas: -1})
	n := c.Node(0)
	c.Close()
	for _, err := range []error{
		c.WaitAgreedFor(time.Millisecond), c.MoveSlot(1, n), c.Remove(n), n.call("PING"), n.forget("x"),
		second(c.Owner(1)), second(c.Slot("a")), second(c.Masters()), second(c.BeginMigration(1, n)),
	} {
		assert.ErrorContains(t, err, "testbed: ")
	}
}

func second[T any](_ T, err error) error { return err }
