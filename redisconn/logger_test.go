package redisconn_test

import (
	"bytes"
	"context"
	"errors"
	"log"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/conntest"
	"github.com/joomcode/redispipe/internal/oplog"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

func TestEventsOfALife(t *testing.T) {
	t.Parallel()
	s := testbed.NewServer(t)
	log := &recorder{}
	conn := connect(t, s.Addr(), redisconn.Opts{Logger: log})
	local, remote := conn.LocalAddr(), conn.RemoteAddr()
	require.NoError(t, s.Restart())
	eventually(t, "connected again", func() bool { return conn.Ping() == nil })
	conn.Close()
	eventually(t, "the end", func() bool { return log.Count("ContextClosed") == 1 })

	names := log.Names()
	require.Equal(t, []string{"Connecting", "Connected", "Disconnected", "Connecting"}, names[:4])
	for i := 3; i < len(names)-3; i += 2 { // connecting may fail any number of times
		require.Equal(t, "Connecting", names[i])
		if i+1 < len(names)-3 {
			require.Equal(t, "ConnectFailed", names[i+1])
		}
	}
	require.Equal(t, []string{"Connected", "Disconnected", "ContextClosed"}, names[len(names)-3:])
	connected := conntest.Event[redisconn.LogConnected](log)
	require.Equal(t, redisconn.LogConnected{LocalAddr: local, RemoteAddr: remote}, connected)
	require.Equal(t, s.Addr(), remote)
	lost := conntest.Event[redisconn.LogDisconnected](log)
	require.Equal(t, remote, lost.RemoteAddr)
	require.Equal(t, local, lost.LocalAddr)
	requireType(t, lost.Error, redis.ErrIO)
}

func TestReqStat(t *testing.T) {
	s := testbed.NewServer(t)
	for name, opts := range map[string]redisconn.Opts{"plain": {}, "integrity": {Integrity: true}} {
		t.Run(name, func(t *testing.T) {
			log := &recorder{}
			opts.Logger = log
			conn := connect(t, s.Addr(), opts)
			sync := redis.Sync{S: conn}
			find := func(cmd string) stat {
				t.Helper()
				for _, st := range log.Stats() {
					if st.Req.Cmd == cmd {
						require.Positive(t, st.Nanos)
						return st
					}
				}
				t.Fatalf("no statistics of %s", cmd)
				return stat{}
			}
			require.Equal(t, "OK", sync.Do("SET", "key", "value"))
			st := find("SET")
			require.Equal(t, "OK", st.Res)
			require.EqualValues(t, len("+OK\r\n"), st.In)
			require.EqualValues(t, len("*3\r\n$3\r\nSET\r\n$3\r\nkey\r\n$5\r\nvalue\r\n"), st.Out)
			require.Equal(t, []any{"key", "value"}, st.Req.Args)

			require.Equal(t, []byte("value"), sendTo(conn, "GET", "key").Wait(t))
			st = find("GET")
			require.EqualValues(t, len("$5\r\nvalue\r\n"), st.In)
			require.EqualValues(t, len("*2\r\n$3\r\nGET\r\n$3\r\nkey\r\n"), st.Out)

			require.NoError(t, redis.AsError(s.Do("DEL", "n")))
			_, err := sync.SendTransaction([]redis.Request{redis.Req("INCR", "n"), redis.Req("INCRBY", "n", 10)})
			require.NoError(t, err)
			require.EqualValues(t, len("+QUEUED\r\n"), find("INCRBY").In)
			require.EqualValues(t, len("*3\r\n$6\r\nINCRBY\r\n$1\r\nn\r\n$2\r\n10\r\n"), find("INCRBY").Out)
			require.EqualValues(t, len("*2\r\n:1\r\n:11\r\n"), find("EXEC").In)

			var body []byte
			require.NoError(t, sync.DoInto(&body, "GETRANGE", "key", 1, 2))
			require.Equal(t, "al", string(body))
			require.Equal(t, []byte("al"), find("GETRANGE").Res)

			requireType(t, sync.Do("LPUSH", "key", 1), redis.ErrResult)
			requireType(t, find("LPUSH").Res, redis.ErrResult)
		})
	}
}

// busyLogger is a logger that uses the connection.
type busyLogger struct {
	recorder
}

// Report implements redisconn.Logger.
func (b *busyLogger) Report(conn *redisconn.Connection, event redisconn.LogEvent) {
	b.recorder.Report(conn, event)
	conn.Send(redis.Req("GET", "a"), redis.FuncFuture(func(any, uint64) {}), 0)
	_, _, _ = conn.ConnectedNow(), conn.MayBeConnected(), conn.String()+conn.RemoteAddr()
	if _, lost := event.(redisconn.LogDisconnected); lost {
		conn.Close()
	}
}

// ReqStat implements redisconn.Logger.
func (b *busyLogger) ReqStat(conn *redisconn.Connection, req redis.Request, _ any, _, _, _ int64) {
	if req.Cmd == "ECHO" {
		conn.Send(redis.Req("GET", "a"), nil, 0)
	}
}

func TestLoggerCallsBack(t *testing.T) {
	s := testbed.NewServer(t)
	log := &busyLogger{}
	conn := connect(t, s.Addr(), redisconn.Opts{Logger: log})
	for range 100 {
		require.Equal(t, []byte("1"), redis.Sync{S: conn}.Do("ECHO", 1))
	}
	require.NoError(t, s.Kill())
	eventually(t, "the end", func() bool { return log.Count("ContextClosed") == 1 })
}

func TestDefaultLogger(t *testing.T) {
	var out bytes.Buffer
	old := log.Writer()
	log.SetOutput(&out)
	defer log.SetOutput(old)
	s := testbed.NewServer(t)
	conn := connect(t, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
	failure := redis.ErrIO.New("on purpose")
	logger := redisconn.DefaultLogger{}
	for _, c := range []struct {
		event redisconn.LogEvent
		want  string
	}{
		{redisconn.LogOptCorrected{Option: "DialTimeout", Given: -time.Second, Used: time.Second}, "DialTimeout is 1s instead of -1s"},
		{redisconn.LogConnecting{}, "connecting"},
		{redisconn.LogConnected{LocalAddr: "here", RemoteAddr: "there"}, "here to there"},
		{redisconn.LogConnectFailed{Error: failure}, "on purpose"},
		{redisconn.LogDisconnected{Error: failure}, "on purpose"},
		{redisconn.LogAuthFailed{Error: failure}, "on purpose"},
		{redisconn.LogContextClosed{Error: failure}, "on purpose"},
		{redisconn.LogDedicatedConnected{LocalAddr: "here", RemoteAddr: "there", Open: 3}, "here to there), 3 open"},
		{redisconn.LogDedicatedDisconnected{Error: failure, LocalAddr: "here", RemoteAddr: "there", More: 3}, "here to there), and 3 more: "},
		{redisconn.LogDedicatedFailed{Error: failure, More: 3}, "and 3 more: "},
		{redisconn.LogNotUnblocked{Error: errRefused}, "can't unblock a cancelled blocking command"},
		{redisconn.LogTrackingFailed{Error: failure}, "tracking connection failed: "},
		{redisconn.LogSessionLeaked{Opened: "somewhere"}, "somewhere"},
		{redisconn.LogFuturePanic{Value: "why", Stack: []byte("where")}, "why\nwhere"},
	} {
		out.Reset()
		logger.Report(conn, c.event)
		require.Contains(t, out.String(), c.want)
		require.Contains(t, out.String(), s.Addr())
	}
	logger.ReqStat(conn, redis.Req("GET"), nil, 0, 0, 0)
	redisconn.NoopLogger{}.ReqStat(conn, redis.Req("GET"), nil, 0, 0, 0)
	redisconn.NoopLogger{}.Report(conn, redisconn.LogConnecting{})
}

// lockedBuffer is a bytes.Buffer that is safe for concurrent use.
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

// Each event is logged as one line, at its level, and without a secret.
func TestSlogLogger(t *testing.T) {
	var out lockedBuffer
	logger := redisconn.NewSlogLogger(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug})))
	require.False(t, oplog.WantsReqStat[redisconn.DefaultLogger, redisconn.NoopLogger](logger))
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
		`level=ERROR msg="redis callback panicked"`,
		`level=INFO msg="redis connection closed" redis.address=` + s.Addr() + ` redis.error="Close was called"`,
	} {
		require.Eventually(t, func() bool { return bytes.Contains([]byte(out.String()), []byte(want)) }, 10*time.Second, time.Millisecond, want)
	}
	require.NotContains(t, out.String(), "canary")

	silent, err := redisconn.Connect(context.Background(), s.Addr(), redisconn.Opts{Logger: redisconn.NewSlogLogger(nil)})
	require.NoError(t, err)
	silent.Close()
}
