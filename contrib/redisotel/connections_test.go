package redisotel

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/joomcode/redispipe"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redispubsub"
	"github.com/joomcode/redispipe/testbed"
)

// sums returns the values of all sums, by the name of the metric and the connections' state.
func (tel telemetry) sums(t require.TestingT, pool string) map[string]int64 {
	var data metricdata.ResourceMetrics
	require.NoError(t, tel.reader.Collect(context.Background(), &data))
	all := make(map[string]int64)
	for _, scope := range data.ScopeMetrics {
		require.Equal(t, schema, scope.Scope.SchemaURL)
		for _, m := range scope.Metrics {
			sum, isSum := m.Data.(metricdata.Sum[int64])
			if !isSum {
				continue
			}
			require.False(t, sum.IsMonotonic)
			for _, p := range sum.DataPoints {
				attrs := attributes(p.Attributes.ToSlice())
				require.Equal(t, pool, attrs["db.client.connection.pool.name"])
				state, _ := attrs["db.client.connection.state"].(string)
				all[m.Name+m.Unit+state] = p.Value
			}
		}
	}
	return all
}

// With a shared connection and two dedicated ones, one of three blocking commands waits for a connection.
func TestObserveClient(t *testing.T) {
	url := "redis://" + testbed.NewServer(t).Addr() + "/3"
	tel := newTelemetry()
	tel.opts.URL = url
	db, err := redispipe.Open(t.Context(), url, redispipe.Logger(nil), redispipe.Conn(func(o *redisconn.Opts) { o.DedicatedConns = 2 }))
	require.NoError(t, err)
	defer db.Close()
	registration, err := ObserveClient(db, tel.opts)
	require.NoError(t, err)
	pool := db.Connection().Addr() + "/3"
	await := func(used, idle, pending int64) {
		t.Helper()
		want := map[string]int64{
			"db.client.connection.count{connection}used":     used,
			"db.client.connection.count{connection}idle":     idle,
			"db.client.connection.pending_requests{request}": pending,
		}
		require.EventuallyWithT(t, func(c *assert.CollectT) { assert.Equal(c, want, tel.sums(c, pool)) }, time.Minute, time.Millisecond)
	}
	await(1, 0, 0)
	ended := make(chan any)
	for range 3 {
		go func() { ended <- db.Do(t.Context(), "BLPOP", "queue", 0) }()
	}
	await(3, 0, 1)
	require.NoError(t, redis.AsError(db.Do(t.Context(), "RPUSH", "queue", 1, 2, 3)))
	for range 3 {
		require.NoError(t, redis.AsError(<-ended))
	}
	await(1, 2, 0)

	require.Equal(t, map[string]uint64{"db.client.connection.create_time{s} " + pool: 3, "db.client.connection.wait_time{s} " + pool: 3}, tel.durations(t))
	require.NoError(t, redis.AsError(db.Do(t.Context(), "BLMPOP", 0.001, 1, "queue", "LEFT")))
	require.Equal(t, map[string]uint64{"db.client.connection.create_time{s} " + pool: 3, "db.client.connection.wait_time{s} " + pool: 4}, tel.durations(t))

	require.NoError(t, registration.Unregister())
	require.Empty(t, tel.sums(t, pool))
}

// durations returns the counts of all histograms, by metric and pool.
func (tel telemetry) durations(t *testing.T) map[string]uint64 {
	var data metricdata.ResourceMetrics
	require.NoError(t, tel.reader.Collect(context.Background(), &data))
	all := make(map[string]uint64)
	for _, scope := range data.ScopeMetrics {
		for _, m := range scope.Metrics {
			if h, ok := m.Data.(metricdata.Histogram[float64]); ok {
				require.Len(t, h.DataPoints, 1)
				p := h.DataPoints[0]
				require.Equal(t, DefaultBuckets, p.Bounds)
				require.Equal(t, 1, p.Attributes.Len())
				name, _ := p.Attributes.Value("db.client.connection.pool.name")
				all[m.Name+"{"+m.Unit+"} "+name.AsString()] = p.Count
			}
		}
	}
	return all
}

// pools adds up the connections of a node.
func TestPools(t *testing.T) {
	var p pool
	p.add(redisconn.Stats{State: "connected", WaitingForRoom: 3, Dedicated: redisconn.DedicatedStats{Open: 5, Idle: 2, Waiting: 4}})
	p.add(redisconn.Stats{State: "connecting"})
	require.Equal(t, pool{used: 4, idle: 2, waiting: 7}, p)
	var opened redis.Histogram
	opened.Add(time.Second, 2)
	p.add(redisconn.Stats{Opening: &opened, Dedicated: redisconn.DedicatedStats{Wait: &opened}})
	p.add(redisconn.Stats{Opening: &opened})
	require.EqualValues(t, 4, p.opening.Count())
	require.EqualValues(t, 2, p.wait.Count())
	for addr, want := range map[string]string{
		"127.0.0.1:6379": "127.0.0.1:6379/3", "unix:///run/redis.sock": "/run/redis.sock/3", "tcp://[::1]:7000": "[::1]:7000/3",
	} {
		require.Equal(t, want, poolName(addr, 3))
	}
}

func TestObserveClientRefuses(t *testing.T) {
	_, err := ObserveClient(nil, Opts{})
	require.True(t, redis.ErrOpts.IsNamespaceOf(redis.AsErrorx(err).Type()))
	_, err = ObserveClient(new(redispipe.Client), Opts{URL: "redis://user:canary/x@host"})
	require.True(t, redis.AsErrorx(err).IsOfType(redis.ErrURL))
	require.NotContains(t, err.Error(), "canary")
}

// A subscriber has a socket once it has a subscription, and none after the server is gone.
func TestObserveSubscriber(t *testing.T) {
	server := testbed.NewServer(t)
	tel := newTelemetry()
	conn, err := redisconn.Connect(t.Context(), server.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}, IOTimeout: time.Minute})
	require.NoError(t, err)
	defer conn.Close()
	subscriber, err := redispubsub.New(conn, redispubsub.Opts{Logger: redispubsub.NoopLogger{}})
	require.NoError(t, err)
	defer subscriber.Close()
	registration, err := ObserveSubscriber(subscriber, tel.opts)
	require.NoError(t, err)
	sub := subscriber.NewSubscription(redispubsub.SubscriptionOpts{})
	require.NoError(t, sub.Subscribe(t.Context(), redispubsub.Channel("news")))
	await := func(want map[string]int64) {
		t.Helper()
		require.EventuallyWithT(t, func(c *assert.CollectT) { assert.Equal(c, want, tel.sums(c, server.Addr()+"/pubsub")) }, time.Minute, time.Millisecond)
	}
	await(map[string]int64{"db.client.connection.count{connection}used": 1})
	require.NoError(t, server.Kill())
	await(map[string]int64{"db.client.connection.count{connection}used": 0})
	require.NoError(t, registration.Unregister())
	assert.Empty(t, tel.sums(t, ""))

	_, err = ObserveSubscriber(nil, tel.opts)
	assert.True(t, redis.ErrOpts.IsNamespaceOf(redis.AsErrorx(err).Type()))
}
