package redisconn

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redistest/chaos"
	"github.com/joomcode/redispipe/testbed"
)

func pushSocket(t *testing.T, addr string, opts Opts) (*Connection, *PushSocket) {
	t.Helper()
	opts.Logger = NoopLogger{}
	c, err := Connect(context.Background(), addr, opts)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	p, err := c.OpenPush(t.Context())
	require.NoError(t, err)
	t.Cleanup(p.Close)
	return c, p
}

func TestPushSocket(t *testing.T) {
	server := testbed.NewServer(t)
	for _, protocol := range []int{2, 3} {
		t.Run(fmt.Sprintf("RESP%d", protocol), func(t *testing.T) {
			c, p := pushSocket(t, server.Addr(), Opts{Protocol: protocol})
			require.NoError(t, p.Send(redis.Req("PING", "before"), redis.Req("SUBSCRIBE", "a"), redis.Req("PING", "after")))
			var push redis.Push
			next := func() any {
				reply, pushed, err := p.Receive(&push)
				require.NoError(t, err)
				if pushed {
					return fmt.Sprintf("%s %s %v", push.Words, push.Body, push.Rest)
				}
				return reply
			}
			assert.Equal(t, []byte("before"), next())
			assert.Equal(t, "[subscribe a]  1", next())
			assert.Equal(t, []byte("after"), next(), "a PONG is a reply with both protocols")
			assert.Equal(t, int64(1), redis.Sync{S: c}.Do("PUBLISH", "a", "hi"))
			assert.Equal(t, "[message a] hi <nil>", next())

			assert.Error(t, p.Send(redis.Req("PING", struct{}{})))
			assert.ErrorContains(t, p.Send(redis.Req("PING")), "PING on a PushSocket takes one string")
			p.Close()
			_, _, err := p.Receive(&push)
			assert.ErrorContains(t, err, "closed")
			assert.Error(t, p.Send(redis.Req("PING", "late")))
		})
	}
}

func TestPushSocketEndsWithItsConnection(t *testing.T) {
	c, p := pushSocket(t, testbed.NewServer(t).Addr(), Opts{})
	c.Close()
	<-p.Done()
	_, _, err := p.Receive(new(redis.Push))
	assert.Error(t, err)
	_, err = c.OpenPush(t.Context())
	assert.True(t, redis.AsErrorx(err).IsOfType(redis.ErrContextClosed))
	//nolint:staticcheck // what a nil context gets
	_, err = c.OpenPush(nil)
	assert.True(t, redis.AsErrorx(err).IsOfType(redis.ErrContextIsNil))
}

func TestPushSocketNeedsPing(t *testing.T) {
	server := testbed.NewServer(t, testbed.Options{ACL: []string{"deaf on >secret ~* &* +@all -ping"}})
	c, err := Connect(context.Background(), server.Addr(), Opts{Username: "deaf", Password: "secret", Logger: NoopLogger{}})
	require.NoError(t, err)
	defer c.Close()
	_, err = c.OpenPush(t.Context())
	assert.True(t, redis.AsErrorx(err).IsOfType(ErrInit), "%v", err)
}

// The handshake of a push socket sends PING only once.
func TestPushSocketPingsOnce(t *testing.T) {
	server := chaos.NewScripted(t, chaos.ScriptedOpts{Raw: true, Handler: func(c *chaos.ScriptedConn, r chaos.ScriptedRequest) error {
		reply := "+OK\r\n"
		if r.Cmd == "PING" {
			reply = "+PONG\r\n"
		}
		_, err := c.Write([]byte(reply))
		return err
	}})
	pushSocket(t, server.Addr(), Opts{IOTimeout: -1})
	pings := 0
	for _, r := range server.Requests() {
		if r.Conn == 2 && r.Cmd == "PING" {
			pings++
		}
	}
	require.Equal(t, 1, pings)
}

// A server that can't write to its disk answers PING with an error, but still publishes messages.
func TestPushSocketOfAServerWithABadDisk(t *testing.T) {
	const bad = "-MISCONF Redis is configured to save RDB snapshots\r\n"
	server := chaos.NewScripted(t, chaos.ScriptedOpts{Raw: true, Handler: chaos.ScriptedReplies(bad)})
	_, p := pushSocket(t, server.Addr(), Opts{IOTimeout: -1})
	opened := p.Confirmed()
	require.NoError(t, p.Send(redis.Req("PING", "x")))
	reply, _, err := p.Receive(new(redis.Push))
	require.NoError(t, err)
	assert.Equal(t, []byte("x"), reply)
	go func() { _, _, _ = p.Receive(new(redis.Push)) }() // ends with the socket
	require.Eventually(t, func() bool { return p.Confirmed().After(opened) }, 10*time.Second, time.Millisecond)
}
