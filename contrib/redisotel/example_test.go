package redisotel_test

import (
	"context"
	"fmt"
	"log"

	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/joomcode/redispipe/contrib/redisotel"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

func Example() {
	server, err := testbed.Start(testbed.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	ctx := context.Background()
	conn, err := redisconn.Connect(ctx, server.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()

	// A program has an exporter of its own here.
	spans := tracetest.NewInMemoryExporter()
	otel.SetTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)))

	hook, err := redisotel.NewHook(redisotel.Opts{})
	if err != nil {
		log.Fatal(err)
	}
	db := redis.SyncCtx{S: redis.WithHook(conn, hook)}

	db.Do(ctx, "SET", "key", "value")
	db.SendMany(ctx, []redis.Request{redis.Req("GET", "key"), redis.Req("GET", "other")})
	for _, span := range spans.GetSpans() {
		fmt.Println(span.SpanKind, span.Name)
	}
	// Output:
	// client SET
	// client PIPELINE GET
}
