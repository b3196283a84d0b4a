package rediscluster

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/backend"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
)

// An address may lead to a new server while the open connections stay with the former one. If the former
// server redirects to that same address, the client replaces these connections.
func TestMovedToWhereItWasAsked(t *testing.T) {
	t.Parallel()
	var endpoint string
	var left atomic.Bool
	former := newScriptedNode(t, func(c *chaos.ScriptedConn, r chaos.ScriptedRequest) error {
		reply := "$6\r\nformer\r\n"
		if left.Load() && r.Cmd == "GET" {
			reply = fmt.Sprintf("-MOVED 15495 %s\r\n", endpoint)
		}
		_, err := c.Write([]byte(reply))
		return err
	})
	next := newScriptedNode(t, chaos.ScriptedReplies("$4\r\nnext\r\n"))
	proxy := chaos.NewProxy(t, former.Addr(), chaos.ProxyOpts{})
	endpoint = proxy.Addr()
	former.serve(endpoint)
	next.serve(endpoint)
	c, _ := connect(t, []string{endpoint}, Opts{CheckInterval: time.Minute, HostOpts: redisconn.Opts{IOTimeout: time.Minute}})
	db := redis.Sync{S: c}
	require.Equal(t, []byte("former"), db.Do("GET", "a"))

	proxy.SetTarget(next.Addr())
	left.Store(true)
	for range 10 {
		require.Equal(t, []byte("next"), db.Do("GET", "a"))
	}
}

// A subscriber also leaves its connection if the server redirects it to the address that it is connected to.
func TestSubscriberMovedToWhereItIs(t *testing.T) {
	t.Parallel()
	node := newScriptedNode(t, chaos.ScriptedReplies("+OK\r\n"))
	c, _ := connect(t, []string{node.Addr()}, calm)
	nodes := backend.NodesOf(c)
	former := nodes.Master(0)
	require.Nil(t, nodes.MovedTo(former, node.Addr()))
	c.ForceReloading()
	await(t, "other connections", func() bool { return nodes.Master(0) != former })
	require.Equal(t, nodes.Master(0), nodes.MovedTo(former, node.Addr()))
}
