package redis_test

import (
	"context"
	"fmt"
	"log"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
)

// counting is a hook that prints each operation and its outcome.
type counting struct{}

func (counting) Before(ctx context.Context, _ redis.Operation) context.Context { return ctx }

func (counting) After(_ context.Context, op redis.Operation, end redis.Completion) {
	fmt.Println(op.Command, op.Requests, end.Outcome)
}

func ExampleWithHook() {
	ctx := context.Background()
	conn, err := redisconn.Connect(ctx, "127.0.0.1:6379", redisconn.Opts{})
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	client := redis.SyncCtx{S: redis.WithHook(conn, counting{})}
	client.Do(ctx, "SET", "key", "value")
	client.SendMany(ctx, []redis.Request{redis.Req("GET", "key"), redis.Req("GET", "key")})
	client.Do(ctx, "LPUSH", "key", 1)
}

func ExampleDelayOf() {
	err := redis.ErrIO.New("no answer").WithProperty(redis.EKDelay, redis.Delay{Wire: 1e9, AheadRequests: 12})
	if delay, ok := redis.DelayOf(err); ok {
		fmt.Println(delay.Longest(), delay.Wire, delay.AheadRequests, delay.Outcome)
	}
	// Output: wire 1s 12 unknown
}
