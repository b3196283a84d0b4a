#!/bin/sh
# go-redis/cache 9.0.0 with go-redis 9.23.0; redis-server.
#
# Item.TTL is "the cache expiration time", but one of 500 ms keeps the item for an hour, 7200 times as long as asked. Set
# returns no error; a line on the standard log says "too short TTL". With a negative TTL, as time.Until returns
# for a moment that has just passed, Set returns no error and stores nothing: the item from before stays.
#
# Output seen:
#   TTL 1.5s: <nil>, value 1, expires within 2s
#   TTL 500ms: <nil>, value 2, expires within 1h0m0s
#   TTL -1ms: <nil>, value 2, expires within 1h0m0s
#
# Wants go, redis-server and redis-cli.
dir=$(mktemp -d)
. "$(dirname "$0")/lib/start.sh"
redis 17931
cat >main.go <<'END'
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/go-redis/cache/v9"
	"github.com/redis/go-redis/v9"
)

func main() {
	ctx, failed := context.Background(), false
	db := redis.NewClient(&redis.Options{Addr: "127.0.0.1:17931"})
	items := cache.New(&cache.Options{Redis: db})
	for i, c := range []struct {
		ttl  time.Duration
		want string
	}{
		{1500 * time.Millisecond, "<nil>, value 1, expires within 2s"},
		{500 * time.Millisecond, "<nil>, value 2, expires within 1h0m0s"},
		{-time.Millisecond, "<nil>, value 2, expires within 1h0m0s"},
	} {
		stored := items.Set(&cache.Item{Ctx: ctx, Key: "key", Value: i + 1, TTL: c.ttl})
		var value int
		if err := items.Get(ctx, "key", &value); err != nil {
			panic(err)
		}
		left, err := db.PTTL(ctx, "key").Result()
		if err != nil {
			panic(err)
		}
		for _, most := range []time.Duration{2 * time.Second, time.Hour} {
			if left <= most {
				left = most
				break
			}
		}
		got := fmt.Sprintf("%v, value %d, expires within %v", stored, value, left)
		fmt.Printf("TTL %v: %s\n", c.ttl, got)
		failed = failed || got != c.want
	}
	if failed {
		os.Exit(1)
	}
}
END
build github.com/go-redis/cache/v9@v9.0.0 github.com/redis/go-redis/v9@v9.23.0
./main
