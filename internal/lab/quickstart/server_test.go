package main

import (
	"bufio"
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
)

// serveForTest runs the embedded server in this process and returns its address.
func serveForTest(t *testing.T) string {
	stdin, stop := io.Pipe()
	out, stdout := io.Pipe()
	served := make(chan error, 1)
	go func() { served <- serveMiniredis(stdin, stdout) }()
	addr, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	t.Cleanup(func() {
		stop.Close()
		require.NoError(t, <-served)
	})
	return strings.TrimSpace(addr)
}

func connectForTest(t *testing.T, addr string, opts redisconn.Opts) redis.SyncCtx {
	opts.Logger = redisconn.NoopLogger{}
	conn, err := redisconn.Connect(context.Background(), addr, opts)
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	return redis.SyncCtx{S: conn}
}

func testContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// Every option of the handshake works with miniredis, because programs use it in their tests.
func TestHandshakeWithMiniredis(t *testing.T) {
	for name, auth := range map[string]struct {
		require func(*miniredis.Miniredis)
		opts    redisconn.Opts
	}{
		"plain":         {func(*miniredis.Miniredis) {}, redisconn.Opts{}},
		"db":            {func(*miniredis.Miniredis) {}, redisconn.Opts{DB: 3}},
		"password":      {func(m *miniredis.Miniredis) { m.RequireAuth("sesame") }, redisconn.Opts{Password: "sesame", DB: 1}},
		"user":          {func(m *miniredis.Miniredis) { m.RequireUserAuth("ali", "sesame") }, redisconn.Opts{Username: "ali", Password: "sesame"}},
		"RESP3":         {func(*miniredis.Miniredis) {}, redisconn.Opts{Protocol: 3}},
		"RESP3 as user": {func(m *miniredis.Miniredis) { m.RequireUserAuth("ali", "sesame") }, redisconn.Opts{Protocol: 3, Username: "ali", Password: "sesame", DB: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			m := miniredis.RunT(t)
			auth.require(m)
			db := connectForTest(t, m.Addr(), auth.opts)
			require.Equal(t, "OK", db.Do(testContext(t), "SET", "k", "v"))
			v, err := m.DB(auth.opts.DB).Get("k")
			require.NoError(t, err)
			require.Equal(t, "v", v)
		})
	}

	m := miniredis.RunT(t)
	m.RequireAuth("sesame")
	_, err := redisconn.Connect(testContext(t), m.Addr(), redisconn.Opts{Password: "wrong", Logger: redisconn.NoopLogger{}})
	require.Error(t, err)
	require.NotContains(t, err.Error(), "wrong")
}
