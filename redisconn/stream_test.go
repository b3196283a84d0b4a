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

// A small request is answered while a stream that is slow is under way.
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

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
