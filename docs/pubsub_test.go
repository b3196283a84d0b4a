package docs_test

import (
	"context"
	"fmt"
	"time"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redispubsub"
)

func Example_pubsub() {
	conn, end := connected()
	defer end()
	ctx, cancel := context.WithCancel(context.Background())
	handle := func(channel string, payload []byte) {
		fmt.Printf("%s: %s\n", channel, payload)
		cancel()
	}
	reload := func([]redispubsub.Topic, time.Time, time.Time) {}
	go func() { // until the message has come
		for ctx.Err() == nil {
			redis.SyncCtx{S: conn}.Do(ctx, "PUBLISH", "news", "rain")
		}
	}()
	fmt.Println(listen(ctx, conn, handle, reload))
	// Output:
	// news: rain
	// context canceled
}

// listen hands messages to handle until ctx ends. It calls reload when messages may have
// been missed.
func listen(ctx context.Context, conn *redisconn.Connection, handle func(string, []byte),
	reload func([]redispubsub.Topic, time.Time, time.Time)) error {
	subscriber, err := redispubsub.New(conn, redispubsub.Opts{}) // or NewCluster(cluster, …), or db.Subscriber(), which db closes
	if err != nil {
		return err
	}
	defer subscriber.Close()
	sub := subscriber.NewSubscription(redispubsub.SubscriptionOpts{})
	if err := sub.Subscribe(ctx, redispubsub.Channel("news"), redispubsub.Pattern("user.*")); err != nil {
		return err // the error names the topics that the server has not confirmed
	}
	for ev, err := range sub.Events(ctx) {
		if err != nil {
			return err
		}
		switch ev := ev.(type) {
		case redispubsub.Message:
			handle(ev.Channel, ev.Payload)
		case redispubsub.Gap:
			if !ev.Open() {
				reload(ev.Topics, ev.From, ev.To) // messages of these topics may be missing
			}
		}
	}
	return nil
}
