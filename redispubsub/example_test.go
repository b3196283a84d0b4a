package redispubsub_test

import (
	"context"
	"fmt"
	"log"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redispubsub"
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

	subscriber, err := redispubsub.New(conn, redispubsub.Opts{Logger: redispubsub.NoopLogger{}})
	if err != nil {
		log.Fatal(err)
	}
	defer subscriber.Close()
	sub := subscriber.NewSubscription(redispubsub.SubscriptionOpts{})
	if err := sub.Subscribe(ctx, redispubsub.Channel("news"), redispubsub.Pattern("user.*")); err != nil {
		log.Fatal(err)
	}
	db := redis.SyncCtx{S: conn}
	db.Do(ctx, "PUBLISH", "user.7", "logged in")
	db.Do(ctx, "PUBLISH", "news", "the end")

	for ev, err := range sub.Events(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		switch ev := ev.(type) {
		case redispubsub.Message:
			fmt.Printf("%s: %s\n", ev.Channel, ev.Payload)
			if ev.Channel == "news" {
				return
			}
		case redispubsub.Gap:
			fmt.Println("messages may be missing of", ev.Topics)
		}
	}
	// Output:
	// user.7: logged in
	// news: the end
}

// A consumer that is too slow learns how many messages it has missed.
func ExampleGap() {
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
	subscriber, err := redispubsub.New(conn, redispubsub.Opts{Logger: redispubsub.NoopLogger{}})
	if err != nil {
		log.Fatal(err)
	}
	defer subscriber.Close()

	sub := subscriber.NewSubscription(redispubsub.SubscriptionOpts{MaxMessages: 2, Policy: redispubsub.DropNewest})
	if err := sub.Subscribe(ctx, redispubsub.Channel("ticks")); err != nil {
		log.Fatal(err)
	}
	for i := range 5 {
		redis.SyncCtx{S: conn}.Do(ctx, "PUBLISH", "ticks", i)
	}
	// Messages that the server sent before the confirmation have been delivered by now.
	if err := sub.Subscribe(ctx, redispubsub.Channel("other")); err != nil {
		log.Fatal(err)
	}
	for ev := range sub.Events(ctx) {
		switch ev := ev.(type) {
		case redispubsub.Message:
			fmt.Printf("%s\n", ev.Payload)
		case redispubsub.Gap:
			fmt.Printf("%d dropped: %v\n", ev.Dropped, ev.Reason)
			return
		}
	}
	// Output:
	// 0
	// 1
	// 3 dropped: buffer full
}

// Keyspace notifications come from the node that has the key.
func ExampleSubscriptionOpts_keyspace() {
	servers, err := testbed.StartCluster(testbed.ClusterOptions{Replicas: -1})
	if err != nil {
		log.Fatal(err)
	}
	defer servers.Close()
	for _, node := range servers.Nodes() {
		node.Do("CONFIG SET", "notify-keyspace-events", "Kg") // usually set in redis.conf
	}
	ctx := context.Background()
	cluster, err := rediscluster.NewCluster(ctx, servers.Addrs(), rediscluster.Opts{Logger: rediscluster.NoopLogger{}})
	if err != nil {
		log.Fatal(err)
	}
	defer cluster.Close()
	subscriber, err := redispubsub.NewCluster(cluster, redispubsub.Opts{Logger: redispubsub.NoopLogger{}})
	if err != nil {
		log.Fatal(err)
	}
	defer subscriber.Close()

	sub := subscriber.NewSubscription(redispubsub.SubscriptionOpts{On: redispubsub.AllMasters})
	if err := sub.Subscribe(ctx, redispubsub.Pattern("__keyspace@0__:user:*")); err != nil {
		log.Fatal(err)
	}
	db := redis.SyncCtx{S: cluster}
	db.Do(ctx, "SET", "user:7", "ali")
	db.Do(ctx, "DEL", "user:7")
	for ev := range sub.Events(ctx) {
		switch ev := ev.(type) {
		case redispubsub.Message:
			fmt.Printf("%s: %s\n", ev.Channel, ev.Payload)
			return
		case redispubsub.Gap:
			fmt.Println("keys may have changed on", ev.Nodes)
		}
	}
	// Output:
	// __keyspace@0__:user:7: del
}
