package redisconn_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/conntest"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

func TestDoStream(t *testing.T) {
	s := testbed.NewServer(t)
	conn := connect(t, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
	ctx := context.Background()
	const size = 8 << 20
	source := func() io.Reader { return io.LimitReader(rand.NewChaCha8([32]byte{1}), size) }
	want := sha256.New()
	_, err := io.Copy(want, source())
	require.NoError(t, err)

	require.Equal(t, "OK", conn.DoStream(ctx, nil, "SET", "big", redis.Stream{R: source(), Size: size}, "EX", 100))
	got := sha256.New()
	require.Equal(t, int64(size), conn.DoStream(ctx, got, "GET", "big"))
	require.Equal(t, want.Sum(nil), got.Sum(nil))

	require.Equal(t, "OK", conn.DoStream(ctx, nil, "MSET", "a", redis.Stream{R: strings.NewReader("first"), Size: 5},
		"b", redis.Stream{R: strings.NewReader("second and more"), Size: 6}, "c", redis.Stream{R: strings.NewReader(""), Size: 0}))
	require.Equal(t, []any{[]byte("first"), []byte("second"), []byte("")}, redis.Sync{S: conn}.Do("MGET", "a", "b", "c"))

	var out bytes.Buffer
	require.Nil(t, conn.DoStream(ctx, &out, "GET", "missing"))
	require.Equal(t, int64(1), conn.DoStream(ctx, &out, "DEL", "a"))
	require.ErrorContains(t, redis.AsError(conn.DoStream(ctx, &out, "LPUSH", "b", 1)), "WRONGTYPE")
	require.Zero(t, out.Len())
}

// While a slow stream is under way, other requests are answered.
func TestDoStreamKeepsNobodyWaiting(t *testing.T) {
	s := testbed.NewServer(t)
	conn := connect(t, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
	r, w := io.Pipe()
	done := make(chan any, 1)
	go func() {
		done <- conn.DoStream(context.Background(), nil, "SET", "slow", redis.Stream{R: r, Size: 10})
	}()
	_, err := w.Write([]byte("01234"))
	require.NoError(t, err)
	require.Nil(t, redis.Sync{S: conn}.Do("GET", "slow"))
	_, err = w.Write([]byte("56789"))
	require.NoError(t, err)
	require.Equal(t, "OK", <-done)
	require.Equal(t, []byte("0123456789"), redis.Sync{S: conn}.Do("GET", "slow"))
}

func TestDoStreamFailures(t *testing.T) {
	s := testbed.NewServer(t)
	conn := connect(t, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
	ctx := context.Background()
	short := redis.Stream{R: strings.NewReader("abc"), Size: 10}
	require.True(t, redis.AsErrorx(conn.DoStream(ctx, nil, "SET", "short", short)).IsOfType(redis.ErrIO))
	require.Nil(t, redis.Sync{S: conn}.Do("GET", "short"))
	for _, bad := range []any{redis.Stream{}, redis.Stream{R: strings.NewReader(""), Size: -1}, struct{}{}} {
		err := redis.AsErrorx(conn.DoStream(ctx, nil, "SET", "bad", bad))
		require.True(t, err.IsOfType(redis.ErrArgumentType), "%v", err)
	}
	require.True(t, redis.AsErrorx(conn.DoStream(ctx, nil, "MONITOR")).IsOfType(redis.ErrCommandForbidden))

	require.NoError(t, redis.AsError(redis.Sync{S: conn}.Do("SET", "key", strings.Repeat("x", 1<<20))))
	broken := errors.New("disk is full")
	err := redis.AsErrorx(conn.DoStream(ctx, writerFunc(func([]byte) (int, error) { return 0, broken }), "GET", "key"))
	require.True(t, err.IsOfType(redis.ErrIO))
	require.ErrorContains(t, err, broken.Error())

	require.NoError(t, s.Pause())
	short.R = strings.NewReader("0123456789")
	ending, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	require.Error(t, redis.AsError(conn.DoStream(ending, nil, "SET", "frozen", short)))
	require.NoError(t, s.Resume())
	conn.Close()
	require.True(t, redis.AsErrorx(conn.DoStream(ctx, nil, "GET", "key")).IsOfType(redis.ErrContextClosed))
}

// Each error of a stream names its request, but contains none of its arguments.
func TestDoStreamNamesItsRequest(t *testing.T) {
	s := testbed.NewServer(t)
	conn := connect(t, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
	require.Equal(t, "OK", redis.Sync{S: conn}.Do("SET", "key", "text"))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	canary := redis.Stream{R: strings.NewReader("canary"), Size: 10}
	for _, res := range []any{
		conn.DoStream(t.Context(), nil, "LPUSH", "key", "canary"),
		conn.DoStream(t.Context(), nil, "SET", "key", canary),
		conn.DoStream(t.Context(), nil, "SET", "key", redis.Stream{}, "canary"),
		conn.DoStream(ended, nil, "SET", "key", canary),
	} {
		err := redis.AsErrorx(res)
		require.NotNil(t, err)
		req, _ := err.Property(redis.EKRequest)
		require.Equal(t, "key", req.(redis.Request).Args[0], "%v", err)
		require.Equal(t, 1, strings.Count(err.Error(), "Req("), "%v", err)
		require.NotContains(t, err.Error(), "canary")
	}
	refused := redis.AsErrorx(conn.DoStream(t.Context(), nil, "INCR", "key"))
	addr, _ := refused.Property(redis.EKAddress)
	require.Equal(t, s.Addr(), addr)
}

// Shutdown waits for a running stream. After it was called, no further stream can begin.
func TestShutdownWaitsForStream(t *testing.T) {
	s := testbed.NewServer(t)
	conn := connect(t, s.Addr(), quiet)
	r, w := io.Pipe()
	done := make(chan any, 1)
	go func() { done <- conn.DoStream(t.Context(), nil, "SET", "key", redis.Stream{R: r, Size: 2}) }()
	_, err := w.Write([]byte("a"))
	require.NoError(t, err)
	require.Equal(t, 1, conn.Pending())
	ended := make(chan error, 1)
	go func() { ended <- conn.Shutdown(t.Context()) }()
	eventually(t, "nothing is taken", func() bool {
		err := redis.AsErrorx(conn.DoStream(t.Context(), nil, "PING"))
		return err != nil && err.IsOfType(redis.ErrContextClosed)
	})
	require.Empty(t, ended)
	_, err = w.Write([]byte("b"))
	require.NoError(t, err)
	require.Equal(t, "OK", conntest.Await(t, "the stream", done))
	require.NoError(t, conntest.Await(t, "Shutdown", ended))
}

// If a stream is still running when the context of Shutdown ends, Shutdown counts it.
func TestShutdownCountsStreams(t *testing.T) {
	s := testbed.NewServer(t)
	conn := connect(t, s.Addr(), quiet)
	r, w := io.Pipe()
	done := make(chan any, 1)
	go func() { done <- conn.DoStream(t.Context(), nil, "SET", "key", redis.Stream{R: r, Size: 2}) }()
	_, err := w.Write([]byte("a"))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	failed := requireType(t, conn.Shutdown(ctx), redisconn.ErrShutdown)
	unknown, _ := failed.Property(redisconn.EKUnknown)
	require.Equal(t, 1, unknown)
	require.NoError(t, w.Close())
	requireType(t, redis.AsError(conntest.Await(t, "the stream", done)), redis.ErrIO)
	require.NoError(t, conn.Shutdown(t.Context()), "again")
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
