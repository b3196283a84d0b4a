package redispipe_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"os"
	"time"

	"github.com/joomcode/redispipe"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redispubsub"
	"github.com/joomcode/redispipe/testbed"
)

// opened starts a server, and opens a client of it.
func opened(opts ...redispipe.Option) (client *redispipe.Client, end func()) {
	s, err := testbed.Start(testbed.Options{})
	if err != nil {
		log.Fatal(err)
	}
	client, err = redispipe.Open(context.Background(), "redis://"+s.Addr(), append(opts, redispipe.Logger(nil))...)
	if err != nil {
		log.Fatal(err)
	}
	return client, func() {
		client.Close()
		s.Close()
	}
}

func ExampleOpen() {
	server, err := testbed.Start(testbed.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	url := "redis://" + server.Addr() + "/0?read_timeout=2s"

	// The time-out limits only Open: the client lives until Close.
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	client, err := redispipe.Open(ctx, url,
		redispipe.Logger(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))),
		redispipe.Conn(func(o *redisconn.Opts) { o.ClientName = "billing" }))
	cancel()
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	fmt.Println(client.Do(context.Background(), "SET", "key", "value"))
	// Output: OK
}

func ExampleRetry() {
	server, err := testbed.Start(testbed.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	ctx := context.Background()
	client, err := redispipe.Open(ctx, "redis://"+server.Addr(), redispipe.Logger(nil),
		redispipe.Retry(redis.RetryOpts{Within: time.Minute, IdempotentWrites: true}))
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	if err := server.Kill(); err != nil {
		log.Fatal(err)
	}
	go server.Restart()
	fmt.Println(client.Do(ctx, "SET", "key", "value")) // waits until the server is back
	// Output: OK
}

func ExampleClient() {
	client, end := opened()
	defer end()
	ctx := context.Background()

	var visits int64
	err := client.DoInto(ctx, &visits, "INCR", "visits")
	fmt.Println(visits, err)

	name, err := redis.As[*string](client.Do(ctx, "GET", "user:1"))
	fmt.Println(name, err) // nil: there is none

	for _, res := range client.DoMany(ctx, []redis.Request{redis.Req("INCR", "visits"), redis.Req("TTL", "visits")}) {
		fmt.Println(res)
	}
	// Output:
	// 1 <nil>
	// <nil> <nil>
	// 2
	// -1
}

func ExampleClient_Watch() {
	client, end := opened()
	defer end()
	ctx := context.Background()
	client.Do(ctx, "SET", "balance", 100)

	results, err := client.Watch(ctx, []string{"balance"}, func(tx *redis.Tx) error {
		var balance int64
		if err := tx.DoInto(&balance, "GET", "balance"); err != nil {
			return err
		}
		tx.Queue("SET", "balance", balance-30)
		return nil
	})
	fmt.Println(results, err)
	// Output: [OK] <nil>
}

func ExampleClient_Subscriber() {
	client, end := opened()
	defer end()
	ctx := context.Background()

	sub := client.Subscriber().NewSubscription(redispubsub.SubscriptionOpts{})
	defer sub.Close()
	if err := sub.Subscribe(ctx, redispubsub.Channel("news")); err != nil {
		log.Fatal(err)
	}
	client.Do(ctx, "PUBLISH", "news", "it works")
	for ev, err := range sub.Events(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		if msg, ok := ev.(redispubsub.Message); ok {
			fmt.Printf("%s: %s\n", msg.Channel, msg.Payload)
			break
		}
	}
	// Output: news: it works
}

func ExampleClient_WithPolicy() {
	client, end := opened() // the same for a cluster, or for a master with replicas
	defer end()
	ctx := context.Background()
	reads := client.WithPolicy(rediscluster.PreferSlaves) // may be late
	client.Do(ctx, "SET", "key", "value")
	fmt.Printf("%s\n", reads.Do(ctx, "GET", "key"))
	// Output: value
}
