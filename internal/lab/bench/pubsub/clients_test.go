package pubsub

import (
	"context"
	"testing"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redispubsub"
)

// client connects to a server and subscribes to a channel, and returns. From then on, it calls take
// with the length of each message, until take returns false.
type client struct {
	name      string
	subscribe func(b *testing.B, addr, channel string, take func(payload int) bool) (done <-chan struct{})
}

var clients = []client{
	{"redispipe", redispipe(2)},
	{"redispipe-resp3", redispipe(3)},
	{"go-redis", goRedis},
	{"go-redis-channel", goRedisChannel},
	{"rueidis", rueidisReceive},
}

func redispipe(protocol int) func(b *testing.B, addr, channel string, take func(int) bool) <-chan struct{} {
	return func(b *testing.B, addr, channel string, take func(int) bool) <-chan struct{} {
		conn, err := redisconn.Connect(b.Context(), addr, redisconn.Opts{Protocol: protocol, Logger: redisconn.NoopLogger{}})
		require.NoError(b, err)
		b.Cleanup(conn.Close)
		subscriber, err := redispubsub.New(conn, redispubsub.Opts{Logger: redispubsub.NoopLogger{}})
		require.NoError(b, err)
		b.Cleanup(subscriber.Close)
		sub := subscriber.NewSubscription(redispubsub.SubscriptionOpts{Policy: redispubsub.Block})
		require.NoError(b, sub.Subscribe(b.Context(), redispubsub.Channel(channel)))
		return consume(func() {
			for ev := range sub.Events(context.Background()) {
				if msg, ok := ev.(redispubsub.Message); ok && !take(len(msg.Payload)) {
					return
				}
			}
		})
	}
}

func goRedisSubscribe(b *testing.B, addr, channel string) *goredis.PubSub {
	db := goredis.NewClient(&goredis.Options{Addr: addr})
	b.Cleanup(func() { db.Close() })
	sub := db.Subscribe(b.Context(), channel)
	b.Cleanup(func() { sub.Close() })
	_, err := sub.Receive(b.Context())
	require.NoError(b, err)
	return sub
}

func goRedis(b *testing.B, addr, channel string, take func(int) bool) <-chan struct{} {
	sub := goRedisSubscribe(b, addr, channel)
	return consume(func() {
		for {
			msg, err := sub.ReceiveMessage(context.Background())
			if err != nil || !take(len(msg.Payload)) {
				return
			}
		}
	})
}

func goRedisChannel(b *testing.B, addr, channel string, take func(int) bool) <-chan struct{} {
	sub := goRedisSubscribe(b, addr, channel)
	return consume(func() {
		for msg := range sub.Channel() {
			if !take(len(msg.Payload)) {
				return
			}
		}
	})
}

func rueidisReceive(b *testing.B, addr, channel string, take func(int) bool) <-chan struct{} {
	db, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}, ForceSingleClient: true, DisableCache: true})
	require.NoError(b, err)
	b.Cleanup(db.Close)
	ctx, cancel := context.WithCancel(context.Background())
	b.Cleanup(cancel)
	confirmed := make(chan struct{}, 16)
	ctx = rueidis.WithOnSubscriptionHook(ctx, func(rueidis.PubSubSubscription) { confirmed <- struct{}{} })
	dedicated, release := db.Dedicate()
	b.Cleanup(release)
	done := consume(func() {
		_ = dedicated.Receive(ctx, db.B().Subscribe().Channel(channel).Build(), func(msg rueidis.PubSubMessage) {
			if !take(len(msg.Message)) {
				cancel()
			}
		})
	})
	<-confirmed
	return done
}

// consume runs f in a goroutine, and returns a channel that is closed when it ends.
func consume(f func()) <-chan struct{} {
	done := make(chan struct{})
	go func() { // ends with f
		defer close(done)
		f()
	}()
	return done
}
