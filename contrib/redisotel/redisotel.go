// Package redisotel records spans and metrics of requests and connections, following OpenTelemetry's semantic
// conventions for database clients and for Redis, of version 1.43.0.
//
// It records a span for each request, SendMany, SendTransaction and step of a scan, and, with
// the hook in redispubsub.Opts, for each Subscribe and Unsubscribe.
// Implicit pipelining, which writes the requests of many goroutines
// together, is not a batch in these conventions. The package records one kind of argument, as
// db.stored_procedure.name: the hash of the script that EVALSHA runs, or the name of the function that
// FCALL calls. It records at most 256 different ones. It does not record db.query.text.
//
// An operation that ends in one of these ways does not count as an error, because nothing is wrong with the
// database:
//
//   - with NOSCRIPT in reply to EVALSHA, by which a server asks for a script that it has not seen;
//   - with an error that the caller's function returns to Watch;
//   - because the program has shut the client down, for a blocking command or a Subscribe.
//
// A blocking command whose outcome is unknown after Close is an error, because it may have taken an element.
package redisotel

import (
	"context"
	"math"
	"net"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/joomcode/errorx"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/joomcode/redispipe/internal/redisurl"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster/redisclusterutil"
)

const (
	scope = "github.com/joomcode/redispipe/contrib/redisotel"
	// schema is the version of the conventions that the names follow.
	schema = "https://opentelemetry.io/schemas/1.43.0"
)

// version returns the version of this module in the program, or "" if it is not known.
func version() string {
	info, _ := debug.ReadBuildInfo()
	if info == nil {
		return ""
	}
	for _, module := range append(info.Deps, &info.Main) {
		if module.Path == scope {
			return module.Version
		}
	}
	return ""
}

// DefaultBuckets are the bounds of durations in seconds, from 50 µs to 10 s. The bounds of the
// convention start at 1 ms, but most requests within a data centre are faster.
var DefaultBuckets = []float64{50e-6, 100e-6, 200e-6, 500e-6, 1e-3, 2e-3, 5e-3, 10e-3, 50e-3, 0.1, 0.5, 1, 5, 10}

// Opts are the options of NewHook and ObserveClient. The zero value uses the global providers.
type Opts struct {
	TracerProvider trace.TracerProvider
	MeterProvider  metric.MeterProvider
	// URL is the URL that you pass to redispipe.Open. Address and DB default to those in the URL; if it names
	// several servers, Address defaults to the first. The hook keeps nothing else of the URL.
	URL string
	// DB is the database that the connections have selected (redisconn.Opts.DB), for
	// db.namespace. It is not negative.
	DB int
	// Address is the address (host:port) of the server, or of a node of the cluster. If it is set,
	// server.address and server.port are known when a span begins. Otherwise they are set at the end, to the
	// node that answered. network.peer.address always names the node that answered. A URL is refused
	// here, because it may contain a password.
	Address string
	// Buckets are the bounds of db.client.operation.duration in seconds, in ascending
	// order. Default DefaultBuckets.
	Buckets []float64
	// Attributes are added to each span and duration of the hook. For tenants that share a client, create a hook for
	// each, with an attribute that names the tenant.
	Attributes []attribute.KeyValue
}

// complete returns opts with the defaults, and with the address and database in URL.
func (opts Opts) complete() (Opts, error) {
	if opts.URL != "" {
		u, err := redisurl.Parse(opts.URL)
		if err != nil {
			return opts, redis.Err(err)
		}
		if opts.Address == "" {
			opts.Address = u.Addrs[0]
		}
		if opts.DB == 0 {
			opts.DB = u.DB
		}
	}
	if opts.TracerProvider == nil {
		opts.TracerProvider = otel.GetTracerProvider()
	}
	if opts.MeterProvider == nil {
		opts.MeterProvider = otel.GetMeterProvider()
	}
	if opts.Buckets == nil {
		opts.Buckets = DefaultBuckets
	}
	return opts, opts.check()
}

// check returns an error if an option is out of its bounds. The SDK would report some of these later or
// record what no backend accepts.
func (opts Opts) check() error {
	if opts.DB < 0 {
		return redis.Err(redis.ErrOption.New("DB must not be negative: %d", opts.DB))
	}
	for i, bound := range opts.Buckets {
		if math.IsNaN(bound) || math.IsInf(bound, 0) || i > 0 && bound <= opts.Buckets[i-1] {
			return redis.Err(redis.ErrOption.New("Buckets are finite, and each is greater than the one before: %v", opts.Buckets))
		}
	}
	if _, err := redisclusterutil.GetHost(opts.Address); errorx.IsOfType(err, redis.ErrURL) {
		return redis.Err(err)
	}
	if _, port := split(opts.Address); port < 0 || port > math.MaxUint16 {
		return redis.Err(redis.ErrOption.New("the port of Address is at most %d, not %d", math.MaxUint16, port))
	}
	return nil
}

func (opts Opts) meter() metric.Meter {
	return opts.MeterProvider.Meter(scope, metric.WithInstrumentationVersion(version()), metric.WithSchemaURL(schema))
}

// NewHook returns a hook for redispipe.Hooks or [redis.WithHook]. It returns a [redis.ErrURL] if URL is malformed or
// Address is a URL, and a [redis.ErrOption] if another option is out of its bounds.
func NewHook(opts Opts) (redis.Hook, error) {
	opts, err := opts.complete()
	if err != nil {
		return nil, err
	}
	duration, err := opts.meter().Float64Histogram("db.client.operation.duration",
		metric.WithUnit("s"),
		metric.WithDescription("Duration of database client operations."),
		metric.WithExplicitBucketBoundaries(opts.Buckets...))
	if err != nil {
		return nil, err
	}
	return &hook{
		tracer:   opts.TracerProvider.Tracer(scope, trace.WithInstrumentationVersion(version()), trace.WithSchemaURL(schema)),
		duration: duration,
		common: append([]attribute.KeyValue{attribute.String("db.system.name", "redis"), attribute.String("db.namespace", strconv.Itoa(opts.DB))},
			opts.Attributes...),
		address: opts.Address,
	}, nil
}

// hook implements redis.Hook.
type hook struct {
	tracer   trace.Tracer
	duration metric.Float64Histogram
	common   []attribute.KeyValue
	address  string
	seen     prefixes
}

// Before implements redis.Hook.
func (h *hook) Before(ctx context.Context, op redis.Operation) context.Context {
	attrs := append(h.operation(op), server(h.address)...)
	ctx, _ = h.tracer.Start(ctx, strings.TrimSpace(name(op)+" "+procedure(op)), trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(attrs...))
	return ctx
}

// After implements redis.Hook.
func (h *hook) After(ctx context.Context, op redis.Operation, end redis.Completion) {
	var late []attribute.KeyValue
	if h.address == "" {
		late = server(end.Address)
	}
	late = append(late, peer(end.Peer)...)
	failed := isFailure(op, end)
	late = append(late, h.failure(end, failed)...)

	span := trace.SpanFromContext(ctx)
	span.SetAttributes(late...)
	if failed {
		span.SetStatus(codes.Error, description(end.Err))
	}
	span.End()

	attrs := append(h.operation(op), late...)
	if h.address != "" {
		attrs = append(attrs, server(h.address)...)
	}
	h.duration.Record(ctx, end.Duration.Seconds(), metric.WithAttributes(withoutBatchSize(attrs)...))
}

// procedure returns db.stored_procedure.name, or "" if there is none.
func procedure(op redis.Operation) string {
	if op.Procedure == redis.OtherCommand {
		return ""
	}
	return op.Procedure
}

// name returns db.operation.name. A span is named after it and the procedure.
func name(op redis.Operation) string {
	prefix := ""
	switch {
	case op.Kind == redis.OperationTransaction:
		prefix = "MULTI"
	case op.Kind == redis.OperationMany && op.Requests > 1:
		prefix = "PIPELINE"
	case op.Command == "" && op.Kind == redis.OperationSubscribe:
		prefix = "SUBSCRIBE"
	case op.Command == "" && op.Kind == redis.OperationUnsubscribe:
		prefix = "UNSUBSCRIBE"
	}
	return strings.TrimSpace(prefix + " " + op.Command)
}

const batchSize = attribute.Key("db.operation.batch.size")

// operation returns the attributes that are known when an operation starts.
func (h *hook) operation(op redis.Operation) []attribute.KeyValue {
	attrs := append([]attribute.KeyValue{attribute.String("db.operation.name", name(op))}, h.common...)
	subscribes := op.Kind == redis.OperationSubscribe || op.Kind == redis.OperationUnsubscribe
	if op.Requests > 1 && !subscribes { // topics are not a batch
		attrs = append(attrs, batchSize.Int(op.Requests))
	}
	if script := procedure(op); script != "" {
		attrs = append(attrs, attribute.String("db.stored_procedure.name", script))
	}
	return attrs
}

// withoutBatchSize removes the batch size, which is only for spans because its values are unbounded.
func withoutBatchSize(attrs []attribute.KeyValue) (kept []attribute.KeyValue) {
	for _, attr := range attrs {
		if attr.Key != batchSize {
			kept = append(kept, attr)
		}
	}
	return kept
}

const defaultPort = 6379

// server returns the attributes of the server to which the operation was sent. It leaves out the default
// port.
func server(addr string) []attribute.KeyValue {
	host, port := split(addr)
	switch {
	case host == "":
		return nil
	case port == 0 || port == defaultPort:
		return []attribute.KeyValue{attribute.String("server.address", host)}
	}
	return []attribute.KeyValue{attribute.String("server.address", host), attribute.Int("server.port", port)}
}

// peer returns the attributes of the socket's remote address.
func peer(addr string) []attribute.KeyValue {
	host, port := split(addr)
	switch {
	case host == "":
		return nil
	case port == 0:
		return []attribute.KeyValue{attribute.String("network.peer.address", host)}
	}
	return []attribute.KeyValue{attribute.String("network.peer.address", host), attribute.Int("network.peer.port", port)}
}

// split splits an address. The path of a Unix socket has no port, and split makes it valid UTF-8, which
// attributes must be.
func split(addr string) (host string, port int) {
	addr = strings.ToValidUTF8(addr, "\uFFFD")
	if path, ok := strings.CutPrefix(addr, "unix://"); ok {
		return path, 0
	}
	host, text, err := net.SplitHostPort(strings.TrimPrefix(addr, "tcp://"))
	if err != nil {
		return addr, 0
	}
	port, _ = strconv.Atoi(text)
	return host, port
}
