package rediscluster

import (
	"fmt"
	"net"
	"sync/atomic"
	"testing"

	"github.com/joomcode/redispipe/rediscluster/redisclusterutil"
	"github.com/joomcode/redispipe/redistest/chaos"
)

// scriptedNode is a server that plays a cluster of one master, or of whatever
// slots says.
type scriptedNode struct {
	*chaos.ScriptedServer
	// slots is the answer to CLUSTER SLOTS.
	slots atomic.Pointer[string]
	// asked counts how often the slots were asked for.
	asked atomic.Int64
	// members counts how often the master-only slots were; refuses says that the user may
	// not read them.
	members atomic.Int64
	refuses atomic.Bool
}

// newScriptedNode starts one. play answers all but what a cluster asks by itself.
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

// holding answers nothing before release is closed, and then with reply.
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

// serve makes the node say that addr serves all slots, or each of several addresses an equal share.
func (n *scriptedNode) serve(addrs ...string) {
	slots := fmt.Sprintf("*%d\r\n", len(addrs))
	for i, addr := range addrs {
		host, port, _ := net.SplitHostPort(addr)
		slots += fmt.Sprintf("*3\r\n:%d\r\n:%d\r\n*2\r\n%s:%s\r\n", i*redisclusterutil.NumSlots/len(addrs), (i+1)*redisclusterutil.NumSlots/len(addrs)-1, chaos.ScriptedBulk(host), port)
	}
	n.slots.Store(&slots)
}
