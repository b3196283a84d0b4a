package redisotel

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/joomcode/redispipe"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redispubsub"
	"github.com/joomcode/redispipe/testbed"
)

// An error of the library itself has an error.type with few possible values, and no status code.
func TestErrorType(t *testing.T) {
	tel := newTelemetry()
	tel.opts.Address, tel.opts.Buckets = "redis.example:6379", []float64{1}
	hook, err := NewHook(tel.opts)
	require.NoError(t, err)
	for _, c := range []struct {
		err  error
		want string
	}{
		{redis.ErrIO.New("canary"), "redispipe.io"},
		{redisconn.ErrDial.New("canary"), "redispipe.connection.dial"},
		{errors.New("canary"), "_OTHER"},
	} {
		tel.spans.Reset()
		op := redis.Operation{Command: "GET", Requests: 1}
		ctx := hook.Before(context.Background(), op)
		hook.After(ctx, op, redis.Completion{Err: c.err, Outcome: redis.OutcomeUnknown, Duration: time.Second})
		span := tel.spans.GetSpans()[0]
		attrs := attributes(span.Attributes)
		require.Equal(t, c.want, attrs["error.type"])
		require.Equal(t, "redis.example", attrs["server.address"])
		require.NotContains(t, attrs, "server.port", "the usual one")
		require.NotContains(t, attrs, "db.response.status_code")
		require.Equal(t, codes.Error, span.Status.Code)
	}
	require.Equal(t, "ERR", prefix(redis.ErrResult.New("user:canary is locked")))
	host, _ := split("unix:///\xff/redis.sock")
	require.Equal(t, "/\uFFFD/redis.sock", host, "attributes have to be UTF-8")
	host, port := split("unix:///tmp/redis.sock")
	require.Equal(t, "/tmp/redis.sock", host)
	require.Zero(t, port)
}

// The labels have few values, no matter which errors scripts raise.
func TestPrefixesAreBounded(t *testing.T) {
	tel := newTelemetry()
	made, err := NewHook(tel.opts)
	require.NoError(t, err)
	op := redis.Operation{Command: "EVAL", Requests: 1}
	for i := range 10_000 {
		word := strings.Map(func(r rune) rune { return r - '0' + 'A' }, strconv.Itoa(i))
		made.After(context.Background(), op, redis.Completion{Err: redis.ErrResult.New("%s raised", word), Outcome: redis.OutcomeRefused})
	}
	var data metricdata.ResourceMetrics
	require.NoError(t, tel.reader.Collect(context.Background(), &data))
	points := data.ScopeMetrics[0].Metrics[0].Data.(metricdata.Histogram[float64]).DataPoints
	require.Len(t, points, prefixesMost+1)
}

// Spans have no error if the database did not fail: for the first use of a script, and a Watch whose
// function gives up.
func TestNoFalseAlarms(t *testing.T) {
	s := testbed.NewServer(t)
	conn, err := redisconn.Connect(context.Background(), s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
	require.NoError(t, err)
	defer conn.Close()
	tel := newTelemetry()
	hook, err := NewHook(tel.opts)
	require.NoError(t, err)
	db := redis.WithHook(conn, hook)

	script := redis.NewScript("return 1")
	one, err := redis.As[int](script.Do(t.Context(), db, nil))
	require.NoError(t, err)
	require.Equal(t, 1, one)
	require.Eventually(t, func() bool { return len(tel.spans.GetSpans()) == 2 }, time.Minute, time.Millisecond) // the span of EVAL ends in another goroutine
	own := errors.New("sold out")
	_, err = redis.Watch(t.Context(), db, []string{"stock"}, func(*redis.Tx) error { return own })
	require.ErrorIs(t, err, own)
	spans := tel.spans.GetSpans()
	names := make([]string, 0, len(spans))
	for _, span := range spans {
		names = append(names, span.Name)
		require.Equal(t, codes.Unset, span.Status.Code, span.Name)
		require.NotContains(t, attributes(span.Attributes), "error.type", span.Name)
	}
	require.Equal(t, []string{"EVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db", "EVAL", "WATCH"}, names)
	require.Equal(t, "NOSCRIPT", attributes(spans[0].Attributes)["db.response.status_code"])

	// The end of the caller's context does count as an error.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = redis.Watch(ctx, db, []string{"stock"}, func(*redis.Tx) error { return nil })
	require.Error(t, err)
	spans = tel.spans.GetSpans()
	require.Equal(t, codes.Error, spans[len(spans)-1].Status.Code)
}

// Blocking commands and subscribers that a shutdown ends are not recorded as errors.
func TestShutdownIsNoError(t *testing.T) {
	tel := newTelemetry()
	hook, err := NewHook(tel.opts)
	require.NoError(t, err)
	db, err := redispipe.Open(t.Context(), "redis://"+testbed.NewServer(t).Addr(), redispipe.Hooks(hook), redispipe.Logger(nil))
	require.NoError(t, err)
	defer db.Close()
	subscriber := db.Subscriber()
	sub := subscriber.NewSubscription(redispubsub.SubscriptionOpts{})
	require.NoError(t, sub.Subscribe(t.Context(), redispubsub.Channel("c")))
	blocked := make(chan any)
	for _, req := range []redis.Request{redis.Req("BLPOP", "queue", 0), redis.Req("XREAD", "BLOCK", 0, "STREAMS", "stream", "$")} {
		go func() { blocked <- redis.SyncCtx{S: db}.Send(t.Context(), req) }()
	}
	require.Eventually(t, func() bool {
		d := db.Stats().Total.Dedicated
		return d.Open-d.Idle == 2
	}, time.Minute, time.Millisecond)
	require.NoError(t, db.Shutdown(t.Context()))
	for range 2 {
		require.True(t, redis.AsErrorx(<-blocked).IsOfType(redis.ErrContextClosed))
	}
	require.Error(t, sub.Subscribe(t.Context(), redispubsub.Channel("late")))
	require.Error(t, redis.AsError(db.Do(t.Context(), "GET", "late")))

	failed := make(map[string]bool)
	for _, span := range tel.spans.GetSpans() {
		failed[span.Name] = failed[span.Name] || span.Status.Code == codes.Error || attributes(span.Attributes)["error.type"] != nil
	}
	require.Equal(t, map[string]bool{"SUBSCRIBE": false, "BLPOP": false, "XREAD": false, "GET": true}, failed, "GET came too late")
	var data metricdata.ResourceMetrics
	require.NoError(t, tel.reader.Collect(t.Context(), &data))
	for _, p := range data.ScopeMetrics[0].Metrics[0].Data.(metricdata.Histogram[float64]).DataPoints {
		attrs := attributes(p.Attributes.ToSlice())
		require.Equal(t, attrs["db.operation.name"] == "GET", attrs["error.type"] != nil, attrs)
	}
}
