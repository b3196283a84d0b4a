package rediscluster

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster/redisclusterutil"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
)

// If ASK names a node that is not connected, the request does not wait for a connection. It goes to the
// first node again, more often than after other failures.
func TestAskWaitsForNoConnection(t *testing.T) {
	target := newScriptedNode(t, func(c *chaos.ScriptedConn, r chaos.ScriptedRequest) error {
		if r.Cmd == "ECHO" {
			c.Close()
			return nil
		}
		_, err := c.Write([]byte("+OK\r\n"))
		return err
	})
	source := newScriptedNode(t, func(c *chaos.ScriptedConn, _ chaos.ScriptedRequest) error {
		_, err := fmt.Fprintf(c, "-ASK %d %s\r\n", redisclusterutil.Slot("key"), target.Addr())
		return err
	})
	source.serve(target.Addr(), source.Addr()) // the key's slot is in the second half
	target.serve(target.Addr(), source.Addr())
	var shut atomic.Bool
	open := make(chan struct{})
	c, _ := connect(t, []string{source.Addr()}, Opts{ConnsPerHost: 1, CheckInterval: time.Minute, HostOpts: redisconn.Opts{
		IOTimeout: time.Minute, DialTimeout: time.Minute,
		Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
			if shut.Load() && addr == target.Addr() {
				<-open
			}
			var d net.Dialer
			return d.DialContext(ctx, network, addr)
		},
	}})
	l := c.topology.Load().Find(target.Addr()).Links[0]
	await(t, "connection", func() bool { return l.Up() })
	shut.Store(true)
	l.Conn.Send(redis.Req("ECHO", "the last"), nil, 0)
	await(t, "dialing", func() bool { return l.Connecting() })

	result := make(chan any, 1)
	go func() { result <- redis.Sync{S: c}.Do("GET", "key") }()
	await(t, "it to ask again", func() bool { return seen(source, "GET") > 2*8 }) // a request is retried 8 times after failures
	require.Zero(t, l.Conn.Pending())
	close(open)
	if res := <-result; redis.AsError(res) == nil { // otherwise the process was held up until no attempt was left
		require.Equal(t, "OK", res)
		require.Equal(t, 1, seen(target, "ASKING"))
	}
}

// If MOVED names a node that is not connected, the request is retried until the node is connected. These
// attempts do not count as redirects.
func TestMovedWaitsForConnection(t *testing.T) {
	target := newScriptedNode(t, func(c *chaos.ScriptedConn, r chaos.ScriptedRequest) error {
		if r.Cmd == "ECHO" {
			c.Close()
			return nil
		}
		_, err := c.Write([]byte("+OK\r\n"))
		return err
	})
	source := newScriptedNode(t, func(c *chaos.ScriptedConn, _ chaos.ScriptedRequest) error {
		_, err := fmt.Fprintf(c, "-MOVED %d %s\r\n", redisclusterutil.Slot("key"), target.Addr())
		return err
	})
	source.serve(target.Addr(), source.Addr()) // the key's slot is in the second half
	target.serve(target.Addr(), source.Addr())
	var shut atomic.Bool
	c, _ := connect(t, []string{source.Addr()}, Opts{ConnsPerHost: 1, CheckInterval: time.Minute, HostOpts: redisconn.Opts{
		Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
			if shut.Load() && addr == target.Addr() {
				return nil, net.ErrClosed
			}
			var d net.Dialer
			return d.DialContext(ctx, network, addr)
		},
	}})
	l := c.topology.Load().Find(target.Addr()).Links[0]
	await(t, "connection", func() bool { return l.Up() })
	shut.Store(true)
	l.Conn.Send(redis.Req("ECHO", "the last"), nil, 0)
	await(t, "failure", func() bool { return !l.Up() && !l.Connecting() })

	result := make(chan any, 1)
	go func() { result <- redis.Sync{S: c}.Do("GET", "key") }()
	await(t, "it to be sent again", func() bool { return seen(source, "GET") > 2*defaultMovedRetries || len(result) > 0 })
	shut.Store(false)
	require.Equal(t, "OK", <-result)
}
