#!/bin/sh
# go-redis/redis_rate 10.0.1 with go-redis 9.23.0; redis-server.
#
# AllowAtMost(n) grants at most n events, but with many limits one less than is free: its script rounds a quotient of seconds,
# which are floating-point numbers, down. Of a fresh key it grants 1 of a burst of 2, and with a burst of 1 nothing,
# however long one waits: 100 events a second with a burst of 1 are none at all. AllowN grants the whole burst.
#
# Output seen:
#   10/s, burst 10: AllowN 10, AllowAtMost 10
#   10/s, burst 2: AllowN 2, AllowAtMost 1
#   200/s, burst 5: AllowN 5, AllowAtMost 4
#   100/s, burst 1: AllowN 1, AllowAtMost 0
#   100/s, burst 1, AllowAtMost 1 for 50 times, 20 ms apart: 0 granted
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

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"
)

func main() {
	ctx, failed := context.Background(), false
	limiter := redis_rate.NewLimiter(redis.NewClient(&redis.Options{Addr: "127.0.0.1:17931"}))
	granted := func(result *redis_rate.Result, err error) int {
		if err != nil {
			panic(err)
		}
		return result.Allowed
	}
	expect := func(what, want, got string) {
		fmt.Printf("%s: %s\n", what, got)
		failed = failed || got != want
	}
	for _, c := range []struct {
		rate, burst, want int
	}{{10, 10, 10}, {10, 2, 1}, {200, 5, 4}, {100, 1, 0}} {
		limit := redis_rate.Limit{Rate: c.rate, Burst: c.burst, Period: time.Second}
		what := fmt.Sprintf("%d/s, burst %d", c.rate, c.burst)
		all := granted(limiter.AllowN(ctx, "all "+what, limit, c.burst))
		most := granted(limiter.AllowAtMost(ctx, "most "+what, limit, c.burst))
		want := fmt.Sprintf("AllowN %d, AllowAtMost %d", c.burst, c.want)
		expect(what, want, fmt.Sprintf("AllowN %d, AllowAtMost %d", all, most))
	}
	sum := 0
	for range 50 {
		sum += granted(limiter.AllowAtMost(ctx, "apart", redis_rate.Limit{Rate: 100, Burst: 1, Period: time.Second}, 1))
		time.Sleep(20 * time.Millisecond)
	}
	expect("100/s, burst 1, AllowAtMost 1 for 50 times, 20 ms apart", "0 granted", fmt.Sprintf("%d granted", sum))
	if failed {
		os.Exit(1)
	}
}
END
build github.com/go-redis/redis_rate/v10@v10.0.1 github.com/redis/go-redis/v9@v9.23.0
./main
