package redisconn_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

// lockedBuffer is a bytes.Buffer for several goroutines.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// Whatever happens has a line at its level, which shows no secret.
func TestSlogLogger(t *testing.T) {
	var out lockedBuffer
	logger := redisconn.NewSlogLogger(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug})))
	require.False(t, redisconn.WantsReqStat(logger))
	s := testbed.NewServer(t)
	conn := connect(t, s.Addr(), redisconn.Opts{Logger: logger, MaxRequests: -1})
	redis.Sync{S: conn}.Do("PING")
	for _, event := range []redisconn.LogEvent{
		redisconn.LogConnectFailed{Error: redisconn.ErrAuth.New("no")},
		redisconn.LogConnectFailed{Error: redisconn.ErrDial.New("no")},
		redisconn.LogDisconnected{Error: errors.New("gone")},
		redisconn.LogDisconnected{Error: redis.ErrContextClosed.New("closed by its owner")},
		redisconn.LogAuthFailed{Error: errors.New("no")},
		redisconn.LogMaintenance{Kind: "MOVING", In: time.Second, Endpoint: "elsewhere"},
		redisconn.LogDedicatedConnected{Open: 2},
		redisconn.LogDedicatedDisconnected{Error: errors.New("gone"), More: 3},
		redisconn.LogDedicatedFailed{Error: redisconn.ErrDial.New("no")},
		redisconn.LogNotUnblocked{Error: errRefused},
		redisconn.LogTrackingFailed{Error: errRefused},
		redisconn.LogSessionLeaked{Opened: "somewhere"},
		redisconn.LogFuturePanic{Value: errors.New("canary")},
	} {
		logger.Report(conn, event)
	}
	conn.Close()
	for _, want := range []string{
		`level=WARN msg="redis option corrected" redis.address=` + s.Addr() + ` redis.option=MaxRequests`,
		`level=DEBUG msg="redis connecting"`,
		`level=INFO msg="redis connected"`,
		`level=ERROR msg="redis connecting failed"`,
		`level=WARN msg="redis connecting failed"`,
		`level=WARN msg="redis connection lost" redis.address=` + s.Addr() + ` redis.local="" redis.peer="" redis.error=gone`,
		`level=INFO msg="redis disconnected"`,
		`level=ERROR msg="redis authenticating again failed"`,
		`level=DEBUG msg="redis dedicated connection connected"`,
		`level=WARN msg="redis dedicated connection lost"`,
		`level=WARN msg="redis dedicated connection failed"`,
		`level=WARN msg="redis session was never closed"`,
		`level=ERROR msg="redis future panicked"`,
		`level=INFO msg="redis connection closed" redis.address=` + s.Addr() + ` redis.error="Close was called"`,
	} {
		require.Eventually(t, func() bool { return bytes.Contains([]byte(out.String()), []byte(want)) }, 10*time.Second, time.Millisecond, want)
	}
	require.NotContains(t, out.String(), "canary")

	silent, err := redisconn.Connect(context.Background(), s.Addr(), redisconn.Opts{Logger: redisconn.NewSlogLogger(nil)})
	require.NoError(t, err)
	silent.Close()
}
