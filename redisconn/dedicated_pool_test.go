package redisconn_test

import (
	"context"
	"net"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/conntest"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

// doing starts a goroutine that sends a request and waits for its result.
func doing(ctx context.Context, conn *redisconn.Connection, cmd string, args ...any) <-chan any {
	done := make(chan any, 1)
	go func() { done <- redis.SyncCtx{S: conn}.Do(ctx, cmd, args...) }()
	return done
}

// dedicatedAs returns a Dialer that applies change to the first dedicated connection.
func dedicatedAs(change func(net.Conn) net.Conn) func(context.Context, string, string) (net.Conn, error) {
	var dials atomic.Int64
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		if err == nil && dials.Add(1) == 2 { // the first dial is for the shared connection
			conn = change(conn)
		}
		return conn, err
	}
}

// A connection that takes long to close keeps its own place in the pool, and delays nobody else.
func TestPoolDuringClose(t *testing.T) {
	s := testbed.NewServer(t)
	closing, release := make(chan struct{}, 8), make(chan struct{})
	conn := connect(t, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}, DedicatedConns: 2,
		Dialer: dedicatedAs(func(conn net.Conn) net.Conn {
			return &conntest.Socket{Conn: conn, OnClose: func() { closing <- struct{}{}; <-release }}
		})})
	client := redis.Sync{S: conn}
	lost := sendTo(conn, "BLPOP", "list", 0)
	blocked(t, client, 1)
	require.Equal(t, int64(1), client.Do("CLIENT", "KILL", "ID", blockedID(t, client)))
	conntest.Await(t, "Close", closing)
	require.Nil(t, conntest.Await(t, "another borrower", doing(t.Context(), conn, "BLPOP", "list", 0.01)))
	require.Equal(t, 1, conn.Pending(), "its place is taken until it is closed")
	close(release)
	requireUnknown(t, lost.Wait(t), redis.ErrIO)
}
