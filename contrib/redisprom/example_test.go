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

	hook := redisprom.NewHook(nil)
	prometheus.MustRegister(hook, redisprom.NewCollector(conn))
	db := redis.SyncCtx{S: redis.WithHook(conn, hook)}

	db.Do(ctx, "SET", "key", "value")
	db.Do(ctx, "INCR", "key")
	families, err := prometheus.DefaultGatherer.Gather() // as the page of promhttp does
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
	// Output:
	// command=incr outcome=refused 1
	// command=set outcome=value 1
}
