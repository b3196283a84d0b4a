package redisprom_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/joomcode/redispipe/contrib/redisprom"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

func Example() {
	ctx := context.Background()
	conn, end := connected(ctx)
	defer end()

	hook := redisprom.NewHook(nil)
	prometheus.MustRegister(hook, redisprom.NewCollector(conn))
	db := redis.SyncCtx{S: redis.WithHook(conn, hook)}

	db.Do(ctx, "SET", "key", "value")
	db.Do(ctx, "INCR", "key")
	printRequests(prometheus.DefaultGatherer)
	// Output:
	// command=incr outcome=refused 1
	// command=set outcome=value 1
}

// Tenants that share a connection, each with a prefix, have their own metrics.
func ExampleNewHook_tenants() {
	ctx := context.Background()
	conn, end := connected(ctx)
	defer end()

	registry := prometheus.NewRegistry()
	tenant := func(name string) redis.SyncCtx {
		hook := redisprom.NewHook(nil)
		prometheus.WrapRegistererWith(prometheus.Labels{"tenant": name}, registry).MustRegister(hook)
		return redis.SyncCtx{S: redis.WithHook(redis.WithPrefix(conn, name+":"), hook)}
	}
	one, two := tenant("one"), tenant("two")

	one.Do(ctx, "SET", "key", "value")
	two.Do(ctx, "GET", "key") // is not there: the key of the other tenant is one:key
	two.Do(ctx, "FLUSHALL")   // is not sent, because it concerns all keys
	printRequests(registry)
	// Output:
	// command=flushall outcome=not_sent tenant=two 1
	// command=get outcome=value tenant=two 1
	// command=set outcome=value tenant=one 1
}

// connected returns a connection to a new server. end ends both.
func connected(ctx context.Context) (conn *redisconn.Connection, end func()) {
	server, err := testbed.Start(testbed.Options{})
	if err != nil {
		log.Fatal(err)
	}
	conn, err = redisconn.Connect(ctx, server.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
	if err != nil {
		log.Fatal(err)
	}
	return conn, func() {
		conn.Close()
		server.Close()
	}
}

// printRequests prints the numbers of requests, which promhttp shows with all other metrics.
func printRequests(metrics prometheus.Gatherer) {
	families, err := metrics.Gather()
	if err != nil {
		log.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() != "redispipe_operation_requests_total" {
			continue
		}
		for _, metric := range family.GetMetric() {
			var labels []string
			for _, label := range metric.GetLabel() {
				if label.GetName() != "node" {
					labels = append(labels, label.GetName()+"="+label.GetValue())
				}
			}
			fmt.Println(strings.Join(labels, " "), metric.GetCounter().GetValue())
		}
	}
}
