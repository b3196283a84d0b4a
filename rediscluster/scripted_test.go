package rediscluster

import (
	"fmt"
	"net"
	"sync/atomic"
	"testing"

	"github.com/joomcode/redispipe/rediscluster/redisclusterutil"
	"github.com/joomcode/redispipe/redistest/chaos"
)

// scriptedNode is a server that plays the node of a cluster. By default it is the only master; slots
// describes other clusters.
type scriptedNode struct {
	*chaos.ScriptedServer
	// slots is the answer to CLUSTER SLOTS.
	slots atomic.Pointer[string]
	// asked counts how often the slots were asked for.
	asked atomic.Int64
	// members counts how often the node was asked for the master-only slots. If refuses is set, it
	// answers that the user may not read them.
	members atomic.Int64
	refuses atomic.Bool
}

// newScriptedNode starts a scriptedNode. play answers all requests except those that a Cluster itself
// sends.
func newScriptedNode(t testing.TB, play chaos.ScriptedHandler) *scriptedNode {
	t.Helper()
	n := &scriptedNode{}
	n.ScriptedServer = chaos.NewScripted(t, chaos.ScriptedOpts{Handler: func(c *chaos.ScriptedConn, r chaos.ScriptedRequest) error {
		var reply string
		switch {
		case r.Cmd == "CLUSTER" && r.Args[0] == "SLOTS":
			n.asked.Add(1)
			reply = *n.slots.Load()
		case r.Cmd == "CLUSTER":
			reply = "-NOPERM no\r\n"
		case r.Cmd == "SMEMBERS":
			n.members.Add(1)
			if reply = "*0\r\n"; n.refuses.Load() {
				reply = "-NOPERM no\r\n"
			}
		default:
			return play(c, r)
		}
		_, err := c.Write([]byte(reply))
		return err
	}})
	n.serve(n.Addr())
	return n
}

// holding returns a handler that waits until release is closed, and then answers with reply.
func holding(reply string) (play chaos.ScriptedHandler, release chan struct{}) {
	release = make(chan struct{})
	return func(c *chaos.ScriptedConn, _ chaos.ScriptedRequest) error {
		select {
		case <-release:
		case <-c.Done():
		}
		_, err := c.Write([]byte(reply))
		return err
	}, release
}

// serve makes the node report that the nodes at addrs serve all slots, in equal shares.
func (n *scriptedNode) serve(addrs ...string) {
	slots := fmt.Sprintf("*%d\r\n", len(addrs))
	for i, addr := range addrs {
		host, port, _ := net.SplitHostPort(addr)
		slots += fmt.Sprintf("*3\r\n:%d\r\n:%d\r\n*2\r\n%s:%s\r\n", i*redisclusterutil.NumSlots/len(addrs), (i+1)*redisclusterutil.NumSlots/len(addrs)-1, chaos.ScriptedBulk(host), port)
	}
	n.slots.Store(&slots)
}
