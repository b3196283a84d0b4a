package redisotel

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/joomcode/redispipe"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redispubsub"
	"github.com/joomcode/redispipe/testbed"
)

// telemetry keeps spans and metrics in memory.
type telemetry struct {
	spans  *tracetest.InMemoryExporter
	reader *sdkmetric.ManualReader
	opts   Opts
}

func newTelemetry() telemetry {
	spans, reader := tracetest.NewInMemoryExporter(), sdkmetric.NewManualReader()
	return telemetry{spans, reader, Opts{
		TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)),
		MeterProvider:  sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)),
	}}
}

func attributes(list []attribute.KeyValue) map[string]any {
	attrs := make(map[string]any)
	for _, attr := range list {
		attrs[string(attr.Key)] = attr.Value.AsInterface()
	}
	return attrs
}

// Each kind of operation has the attributes of the conventions, and no other.
func TestConventions(t *testing.T) {
	s := testbed.NewServer(t)
	conn, err := redisconn.Connect(context.Background(), s.Addr(), redisconn.Opts{DB: 3, Logger: redisconn.NoopLogger{}})
	require.NoError(t, err)
	defer conn.Close()
	tel := newTelemetry()
	tel.opts.DB = 3
	hook, err := NewHook(tel.opts)
	require.NoError(t, err)
	sync := redis.SyncCtx{S: redis.WithHook(conn, hook)}
	ctx, parent := tel.opts.TracerProvider.Tracer("test").Start(context.Background(), "parent")
	host, port := split(s.Addr())
	peerHost, peerPort := split(conn.RemoteAddr())
	get, set := redis.Req("GET", "canary"), redis.Req("SET", "canary", "secret")
	loaded, err := redis.As[string](redis.SyncCtx{S: conn}.Do(ctx, "SCRIPT LOAD", "return 'canary'"))
	require.NoError(t, err)
	eval := redis.Req("EVALSHA", loaded, 0)
	for _, c := range []struct {
		name  string
		send  func()
		extra map[string]any
	}{
		{"SET", func() { sync.Send(ctx, set) }, nil},
		{"CONFIG GET", func() { sync.Do(ctx, "CONFIG", "GET", "port") }, nil},
		{"INCR", func() { sync.Do(ctx, "INCR", "canary") }, map[string]any{"db.response.status_code": "ERR", "error.type": "ERR"}},
		{"LPUSH", func() { sync.Do(ctx, "LPUSH", "canary", 1) }, map[string]any{"db.response.status_code": "WRONGTYPE", "error.type": "WRONGTYPE"}},
		{"PIPELINE GET", func() { sync.SendMany(ctx, []redis.Request{get, get}) }, map[string]any{"db.operation.batch.size": int64(2)}},
		{"PIPELINE", func() { sync.SendMany(ctx, []redis.Request{get, set, get}) }, map[string]any{"db.operation.batch.size": int64(3)}},
		{"GET", func() { sync.SendMany(ctx, []redis.Request{get}) }, nil},
		{"MULTI SET", func() { _, _ = sync.SendTransaction(ctx, []redis.Request{set}) }, nil},
		{"FCALL", func() { sync.Do(ctx, "FCALL", "canary-secret", 0) }, map[string]any{"db.response.status_code": "ERR", "error.type": "ERR"}},
		{"EVALSHA", func() { sync.Do(ctx, "EVALSHA", loaded, 0) }, map[string]any{"db.stored_procedure.name": loaded}},
		{"PIPELINE EVALSHA", func() { sync.SendMany(ctx, []redis.Request{eval, eval}) }, map[string]any{"db.stored_procedure.name": loaded, "db.operation.batch.size": int64(2)}},
		{"MULTI", func() { _, _ = sync.SendTransaction(ctx, []redis.Request{get, set}) }, map[string]any{"db.operation.batch.size": int64(2)}},
	} {
		tel.spans.Reset()
		c.send()
		spans := tel.spans.GetSpans()
		require.Len(t, spans, 1, c.name)
		spanName := c.name
		if script, named := c.extra["db.stored_procedure.name"]; named {
			spanName += " " + script.(string)
		}
		want := map[string]any{
			"db.system.name": "redis", "db.operation.name": c.name, "db.namespace": "3",
			"server.address": host, "server.port": int64(port),
			"network.peer.address": peerHost, "network.peer.port": int64(peerPort),
		}
		for key, value := range c.extra {
			want[key] = value
		}
		require.Equal(t, spanName, spans[0].Name)
		require.Equal(t, schema, spans[0].InstrumentationScope.SchemaURL)
		require.Equal(t, want, attributes(spans[0].Attributes), c.name)
		require.Equal(t, trace.SpanKindClient, spans[0].SpanKind)
		require.Equal(t, parent.SpanContext().SpanID(), spans[0].Parent.SpanID())
		status := codes.Unset
		if want["error.type"] != nil {
			status = codes.Error
		}
		require.Equal(t, status, spans[0].Status.Code, c.name)
		require.NotContains(t, spans[0].Status.Description, "canary")
	}

	var data metricdata.ResourceMetrics
	require.NoError(t, tel.reader.Collect(context.Background(), &data))
	require.Len(t, data.ScopeMetrics, 1)
	require.Equal(t, scope, data.ScopeMetrics[0].Scope.Name)
	require.Equal(t, schema, data.ScopeMetrics[0].Scope.SchemaURL)
	require.Len(t, data.ScopeMetrics[0].Metrics, 1)
	m := data.ScopeMetrics[0].Metrics[0]
	require.Equal(t, "db.client.operation.duration", m.Name)
	require.Equal(t, "s", m.Unit)
	points := m.Data.(metricdata.Histogram[float64]).DataPoints
	require.Len(t, points, 12)
	for _, p := range points {
		require.Equal(t, DefaultBuckets, p.Bounds)
		require.EqualValues(t, 1, p.Count)
		attrs := attributes(p.Attributes.ToSlice())
		require.Equal(t, "redis", attrs["db.system.name"])
		require.NotContains(t, attrs, "db.operation.batch.size", "it has no bound")
	}
}

// Tenants that share a connection, each with a prefix and a hook, have their own spans and durations.
func TestTenants(t *testing.T) {
	conn, err := redisconn.Connect(context.Background(), testbed.NewServer(t).Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
	require.NoError(t, err)
	defer conn.Close()
	tel := newTelemetry()
	for _, name := range []string{"one", "two"} {
		tel.opts.Attributes = []attribute.KeyValue{attribute.String("tenant", name)}
		hook, err := NewHook(tel.opts)
		require.NoError(t, err)
		tenant := redis.SyncCtx{S: redis.WithHook(redis.WithPrefix(conn, name+":"), hook)}
		require.NoError(t, redis.Err(tenant.Do(t.Context(), "SET", "key", "value")))
	}
	var tenants, counted []any
	for _, span := range tel.spans.GetSpans() {
		tenants = append(tenants, attributes(span.Attributes)["tenant"])
	}
	require.Equal(t, []any{"one", "two"}, tenants)
	var data metricdata.ResourceMetrics
	require.NoError(t, tel.reader.Collect(t.Context(), &data))
	for _, p := range data.ScopeMetrics[0].Metrics[0].Data.(metricdata.Histogram[float64]).DataPoints {
		require.EqualValues(t, 1, p.Count)
		counted = append(counted, attributes(p.Attributes.ToSlice())["tenant"])
	}
	require.ElementsMatch(t, tenants, counted)
}

// Subscribe is recorded like other operations. Several topics do not count as a batch.
func TestSubscribing(t *testing.T) {
	s := testbed.NewServer(t)
	conn, err := redisconn.Connect(context.Background(), s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
	require.NoError(t, err)
	defer conn.Close()
	tel := newTelemetry()
	hook, err := NewHook(tel.opts)
	require.NoError(t, err)
	subscriber, err := redispubsub.New(conn, redispubsub.Opts{Logger: redispubsub.NoopLogger{}, Hooks: []redis.Hook{hook}})
	require.NoError(t, err)
	defer subscriber.Close()
	sub := subscriber.NewSubscription(redispubsub.SubscriptionOpts{})
	host, port := split(s.Addr())
	for _, c := range []struct {
		name   string
		call   func(context.Context, ...redispubsub.Topic) error
		topics []redispubsub.Topic
	}{
		{"SUBSCRIBE", sub.Subscribe, []redispubsub.Topic{redispubsub.Channel("canary1"), redispubsub.Channel("canary2")}},
		{"UNSUBSCRIBE", sub.Unsubscribe, []redispubsub.Topic{redispubsub.Channel("canary1"), redispubsub.Channel("canary2")}},
		{"SUBSCRIBE", sub.Subscribe, []redispubsub.Topic{redispubsub.Channel("canary"), redispubsub.Pattern("canary*")}},
		{"PUNSUBSCRIBE", sub.Unsubscribe, []redispubsub.Topic{redispubsub.Pattern("canary*")}},
		{"UNSUBSCRIBE", sub.Unsubscribe, []redispubsub.Topic{redispubsub.Channel("canary")}},
	} {
		tel.spans.Reset()
		require.NoError(t, c.call(t.Context(), c.topics...))
		spans := tel.spans.GetSpans()
		require.Len(t, spans, 1)
		require.Equal(t, c.name, spans[0].Name)
		require.Equal(t, map[string]any{
			"db.system.name": "redis", "db.operation.name": c.name, "db.namespace": "0",
			"server.address": host, "server.port": int64(port),
		}, attributes(spans[0].Attributes))
	}
}

// TestAddressThatIsURL checks that a password does not get into spans.
func TestAddressThatIsURL(t *testing.T) {
	_, err := NewHook(Opts{Address: "redis://user:canary@host:6379"})
	require.Error(t, err)
	require.NotContains(t, err.Error(), "canary")
	for _, addr := range []string{"", "host", "host:6379", "unix:///run/redis.sock"} {
		_, err := NewHook(Opts{Address: addr})
		require.NoError(t, err, addr)
	}
}

// Options that are out of their bounds are refused before anything is recorded.
func TestOptions(t *testing.T) {
	client := new(redispipe.Client)
	for name, opts := range map[string]Opts{
		"DB": {DB: -1}, "port": {Address: "host:70000"},
		"order": {Buckets: []float64{1, 0.5}}, "twice": {Buckets: []float64{1, 1}},
		"NaN": {Buckets: []float64{math.NaN()}}, "infinite": {Buckets: []float64{1, math.Inf(1)}},
	} {
		_, err := NewHook(opts)
		require.True(t, redis.AsErrorx(err).IsOfType(redis.ErrOption), "%s: %v", name, err)
		_, err = ObserveClient(client, opts)
		require.True(t, redis.AsErrorx(err).IsOfType(redis.ErrOption), "%s: %v", name, err)
	}
	_, err := NewHook(Opts{Buckets: []float64{}})
	require.NoError(t, err)
}

// With the URL of Open, the address is known when a span begins, and the database is the one in use.
func TestURL(t *testing.T) {
	for _, c := range []struct {
		opts Opts
		want map[string]any
	}{
		{Opts{URL: "redis://user:canary@redis.example:7000/3"}, map[string]any{"server.address": "redis.example", "server.port": int64(7000), "db.namespace": "3"}},
		{Opts{URL: "redis-cluster://a.example,b.example:7001"}, map[string]any{"server.address": "a.example", "db.namespace": "0"}},
		{Opts{URL: "unix:///run/redis.sock?db=2"}, map[string]any{"server.address": "/run/redis.sock", "db.namespace": "2"}},
		{Opts{URL: "redis://a.example/3", Address: "b.example:7002", DB: 4}, map[string]any{"server.address": "b.example", "server.port": int64(7002), "db.namespace": "4"}},
	} {
		tel := newTelemetry()
		c.opts.TracerProvider, c.opts.MeterProvider = tel.opts.TracerProvider, tel.opts.MeterProvider
		hook, err := NewHook(c.opts)
		require.NoError(t, err)
		ctx := hook.Before(context.Background(), redis.Operation{Command: "GET", Requests: 1})
		began := attributes(trace.SpanFromContext(ctx).(sdktrace.ReadOnlySpan).Attributes())
		delete(began, "db.system.name")
		delete(began, "db.operation.name")
		require.Equal(t, c.want, began)
	}
	_, err := NewHook(Opts{URL: "redis://user:canary/x@host"})
	require.Error(t, err)
	require.NotContains(t, err.Error(), "canary")
}
