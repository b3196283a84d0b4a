package redisconn_test

import (
	"context"
	"encoding/json"
	"errors"
	"expvar"
	"io"
	"net"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
	"github.com/joomcode/redispipe/testbed"
)

func TestStats(t *testing.T) {
	t.Parallel()
	s := testbed.NewServer(t)
	conn := connect(t, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}, IOTimeout: 3 * time.Second})
	sync := redis.Sync{S: conn}
	sync.Do("SET", "key", "value")
	sync.Do("INCR", "key")
	sync.SendMany([]redis.Request{redis.Req("GET", "key"), redis.Req("GET", "key")})
	_, err := sync.SendTransaction([]redis.Request{redis.Req("GET", "key"), redis.Req("GET", "key")})
	require.NoError(t, err)
	redis.ChanFutured{S: conn}.Send(redis.Req("GET", "key")).Value()

	var stats redisconn.Stats
	require.Eventually(t, func() bool { // the last future of a batch is counted after it has returned
		stats = conn.Stats()
		return stats.Callback.Count() == 7
	}, 10*time.Second, time.Millisecond)
	require.EqualValues(t, 6, stats.Values)
	require.EqualValues(t, 1, stats.Refused)
	require.EqualValues(t, 7, stats.Requests())
	require.EqualValues(t, 1, stats.Connects)
	require.Equal(t, "connected", stats.State)
	require.Equal(t, conn.RemoteAddr(), stats.RemoteAddr)
	require.Zero(t, stats.InFlight+stats.Queued+stats.QueuedBytes)
	require.GreaterOrEqual(t, stats.WrittenRequests, stats.Writes)
	require.Positive(t, stats.ReadBytes)
	require.Positive(t, stats.WrittenBytes)
	for _, stage := range []redis.Stage{redis.StageQueue, redis.StageWire, redis.StageReading} {
		require.EqualValues(t, 7, stats.Stage(stage).Count(), stage)
	}
	require.Positive(t, stats.Wire.Quantile(0.5))

	read := expvar.Func(func() any { return conn.Stats() }).String()
	var decoded map[string]any
	require.NoError(t, json.Unmarshal([]byte(read), &decoded))
	require.EqualValues(t, 6, decoded["Values"])

	s.Pause()
	lost := redis.ChanFutured{S: conn}.Send(redis.Req("GET", "key"))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	redis.SyncCtx{S: conn}.Do(ctx, "GET", "key")
	require.EqualValues(t, 1, conn.Stats().InFlight+conn.Stats().Queued)
	require.Error(t, redis.AsError(lost.Value()))
	s.Resume()
	require.Eventually(t, func() bool { return conn.Stats().Connects == 2 }, 10*time.Second, time.Millisecond)
	stats = conn.Stats()
	require.EqualValues(t, 1, stats.Unknown)
	require.EqualValues(t, 1, stats.Disconnects)
	require.Greater(t, stats.ReadBytes, uint64(len("value")))

	conn.Close()
	require.Error(t, redis.AsError(sync.Do("GET", "key")))
	require.EqualValues(t, 1, conn.Stats().NotSent)

	var sum redisconn.Stats
	sum.Merge(stats)
	sum.Merge(stats)
	require.EqualValues(t, 2*stats.Requests(), sum.Requests())
	require.Equal(t, 2*stats.Wire.Count(), sum.Wire.Count())
}

// Merge adds all counters, and changes no other fields.
func TestMergeAddsAll(t *testing.T) {
	var one, two redisconn.Stats
	count := func(s *redisconn.Stats, n uint64) {
		for _, v := range []reflect.Value{reflect.ValueOf(s).Elem(), reflect.ValueOf(&s.Dedicated).Elem()} {
			for i := range v.NumField() {
				switch f := v.Field(i); f.Kind() {
				case reflect.Int:
					f.SetInt(int64(n))
				case reflect.Uint64:
					f.SetUint(n)
				}
			}
		}
	}
	count(&one, 1)
	count(&two, 2)
	one.PingLatency, one.Addr = time.Second, "here"
	sum := one
	sum.Merge(one)
	require.Equal(t, time.Second, sum.PingLatency)
	require.Equal(t, "here", sum.Addr)
	sum.PingLatency, sum.Addr = 0, ""
	sum.Queue, sum.Wire, sum.Reading, sum.Callback = nil, nil, nil, nil
	sum.Opening, sum.Dedicated.Wait = nil, nil
	require.Equal(t, two, sum)
}

func BenchmarkStats(b *testing.B) {
	s := testbed.NewServer(b)
	conn := connect(b, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
	for b.Loop() {
		conn.Stats()
	}
}

// Requests without a future count by their outcome, like others. ASKING never counts.
func TestStatsOfRequestsWithoutFutures(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer  chaos.ScriptedHandler
		counter func(redisconn.Stats) uint64
	}{
		"values":  {chaos.ScriptedReplies("+OK\r\n"), func(s redisconn.Stats) uint64 { return s.Values }},
		"refused": {chaos.ScriptedReplies("-ERR no\r\n"), func(s redisconn.Stats) uint64 { return s.Refused }},
		"unknown": {
			func(*chaos.ScriptedConn, chaos.ScriptedRequest) error { return io.EOF },
			func(s redisconn.Stats) uint64 { return s.Unknown },
		},
	} {
		for _, integrity := range []bool{false, true} {
			s := chaos.NewScripted(t, chaos.ScriptedOpts{Handler: c.answer})
			opts := redisconn.Opts{Logger: redisconn.NoopLogger{}, IOTimeout: time.Minute, Integrity: integrity}
			conn := connect(t, s.Addr(), opts)
			conn.SendMany([]redis.Request{redis.Req("GET", "a"), redis.Req("GET", "b"), redis.Req("GET", "c")}, nil, 0)
			eventually(t, name, func() bool { return conn.Stats().Requests() == 3 })
			require.EqualValues(t, 3, c.counter(conn.Stats()), name)

			conn = connect(t, s.Addr(), opts)
			conn.SendAsk(redis.Req("GET", "a"), nil, 0, true)
			eventually(t, name, func() bool { return conn.Stats().Requests() == 1 })
			require.EqualValues(t, 1, c.counter(conn.Stats()), name)
		}
	}
}

// A transaction counts as its requests, no matter how it ends.
func TestStatsOfTransactionsWithoutResults(t *testing.T) {
	s := chaos.NewScripted(t, chaos.ScriptedOpts{Handler: func(*chaos.ScriptedConn, chaos.ScriptedRequest) error {
		return io.EOF
	}})
	conn := connect(t, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
	two := []redis.Request{redis.Req("GET", "a"), redis.Req("GET", "a")}
	_, err := redis.Sync{S: conn}.SendTransaction(two)
	requireUnknown(t, err, redis.ErrIO)
	eventually(t, "it is counted", func() bool { return conn.Stats().Unknown == 2 })
	conn.Close()
	_, err = redis.Sync{S: conn}.SendTransaction(two)
	requireNotSent(t, err, redis.ErrContextClosed)
	stats := conn.Stats()
	require.EqualValues(t, 2, stats.NotSent)
	require.EqualValues(t, 2, stats.Unknown)
}

// A request may be withdrawn from a batch that is then dropped before the request was removed. It
// counts once.
func TestWithdrawnCountsOnce(t *testing.T) {
	release := make(chan struct{})
	conn, err := redisconn.Connect(background, "127.0.0.1:1", redisconn.Opts{
		AsyncDial: true, Logger: redisconn.NoopLogger{}, IOTimeout: -1, DialTimeout: patience, ReconnectPause: -1,
		Dialer: func(ctx context.Context, _, _ string) (net.Conn, error) {
			select {
			case <-release:
			case <-ctx.Done():
			}
			return nil, errors.New("on purpose")
		},
	})
	require.NoError(t, err)
	defer conn.Close()
	stays := sendTo(conn, "SET", "a", "b")
	const withdrawn = 3
	for range withdrawn {
		ctx, cancel := context.WithCancel(background)
		done := make(chan any, 1)
		pending := conn.Pending()
		go func() { done <- redis.SyncCtx{S: conn}.Do(ctx, "SET", "a", "b") }()
		eventually(t, "it is pending", func() bool { return conn.Pending() > pending })
		cancel()
		require.Equal(t, redis.OutcomeNotSent, redis.OutcomeOf(<-done))
	}
	require.EqualValues(t, withdrawn, conn.Stats().NotSent)
	close(release)
	require.Equal(t, redis.OutcomeNotSent, redis.OutcomeOf(stays.Wait(t)))
	eventually(t, "it is counted", func() bool { return conn.Stats().NotSent > withdrawn })
	require.EqualValues(t, withdrawn+1, conn.Stats().NotSent)
}

// Requests that were answered before the session failed count as answered, even if the rest of
// their batch was not.
func TestStatsOfBatchesAnsweredInPart(t *testing.T) {
	t.Parallel()
	reqs := []redis.Request{redis.Req("GET", "a"), redis.Req("GET", "b"), redis.Req("GET", "c"), redis.Req("GET", "d")}
	for name, c := range map[string]struct {
		replies                  []string
		send                     func(redis.SyncCtx, context.Context)
		values, refused, unknown uint64
	}{
		"batch": {
			[]string{"+OK\r\n", "-ERR no\r\n", "nonsense\r\n"},
			func(s redis.SyncCtx, ctx context.Context) { s.SendMany(ctx, reqs) }, 1, 1, 2,
		},
		"transaction": {
			[]string{"+OK\r\n", "+QUEUED\r\n", "+QUEUED\r\n", "nonsense\r\n"},
			func(s redis.SyncCtx, ctx context.Context) { _, _ = s.SendTransaction(ctx, reqs) }, 0, 0, 4,
		},
		"EXEC": {
			[]string{"+OK\r\n", "+QUEUED\r\n", "+QUEUED\r\n", "+QUEUED\r\n", "+QUEUED\r\n", "nonsense\r\n"},
			func(s redis.SyncCtx, ctx context.Context) { _, _ = s.SendTransaction(ctx, reqs) }, 0, 0, 4,
		},
		"future": {
			[]string{"+OK\r\n", "-ERR no\r\n", "nonsense\r\n"},
			func(s redis.SyncCtx, _ context.Context) { s.S.SendMany(reqs, nil, 0) }, 1, 1, 2,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := chaos.NewScripted(t, chaos.ScriptedOpts{Handler: chaos.ScriptedReplies(c.replies...)})
			conn := connect(t, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}, IOTimeout: time.Minute})
			c.send(redis.SyncCtx{S: conn}, background)
			eventually(t, "all are counted", func() bool { return conn.Stats().Requests() == 4 })
			stats := conn.Stats()
			require.Equal(t, []uint64{c.values, c.refused, 0, c.unknown}, []uint64{stats.Values, stats.Refused, stats.NotSent, stats.Unknown})
		})
	}
}
