package rediscluster

import (
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
)

// localNodes returns the addresses of the nodes in the caller's zone.
func localNodes(c *Cluster) (addrs []string) {
	for _, n := range c.topology.Load().Nodes {
		if n.Local.Load() {
			addrs = append(addrs, n.Addr)
		}
	}
	return addrs
}

// serveZoned makes the node report that it serves all slots, has a replica, and in which zone each of them
// is.
func (n *scriptedNode) serveZoned(replica, zone, replicaZone string) {
	row := func(addr, zone string) string {
		host, port, _ := net.SplitHostPort(addr)
		return "*4\r\n" + chaos.ScriptedBulk(host) + ":" + port + "\r\n" + chaos.ScriptedBulk("id of "+port) +
			"*2\r\n" + chaos.ScriptedBulk("availability-zone") + chaos.ScriptedBulk(zone)
	}
	slots := fmt.Sprintf("*1\r\n*4\r\n:0\r\n:16383\r\n%s%s", row(n.Addr(), zone), row(replica, replicaZone))
	n.slots.Store(&slots)
}

// Valkey 9.1 reports the zones of all nodes together with the slots.
func TestSlotsTellZones(t *testing.T) {
	master, replica := newScriptedNode(t, chaos.ScriptedReplies("+OK\r\n")), newScriptedNode(t, chaos.ScriptedReplies("+OK\r\n"))
	master.serveZoned(replica.Addr(), "a", "b")
	replica.slots.Store(master.slots.Load())
	c, _ := connect(t, []string{master.Addr()}, Opts{Zone: "b", CheckInterval: minCheckInterval})
	require.Equal(t, []string{replica.Addr()}, localNodes(c))

	// The zones may change.
	master.serveZoned(replica.Addr(), "b", "a")
	replica.slots.Store(master.slots.Load())
	require.Eventually(t, func() bool {
		local := localNodes(c)
		return len(local) == 1 && local[0] == master.Addr()
	}, 20*time.Second, time.Millisecond)

	// The user's ZoneOf takes precedence.
	c, _ = connect(t, []string{master.Addr()}, Opts{Zone: "b", ZoneOf: func(addr string) string {
		if addr == replica.Addr() {
			return "b"
		}
		return ""
	}})
	require.Equal(t, []string{replica.Addr()}, localNodes(c))
}

// The nodes of a cluster report their own zones in the handshake.
func TestClusterNodesTellTheirZones(t *testing.T) {
	tb := sharedCluster(t)
	for i, n := range tb.Nodes() {
		if err := redis.AsError(n.Do("CONFIG SET", "availability-zone", fmt.Sprint("zone-", i))); err != nil {
			t.Skip("the server knows no zones: ", err)
		}
		t.Cleanup(func() { require.Equal(t, "OK", n.Do("CONFIG SET", "availability-zone", "")) })
	}
	c, _ := connect(t, tb.Addrs(), Opts{Zone: "zone-1", HostOpts: redisconn.Opts{IOTimeout: time.Minute}})
	require.Eventually(t, func() bool {
		local := localNodes(c)
		return len(local) == 1 && local[0] == tb.Addrs()[1]
	}, 20*time.Second, time.Millisecond)
}
