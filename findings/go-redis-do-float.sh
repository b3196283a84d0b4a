#!/bin/sh
# go-redis 9.23.0 with Protocol 2 and with Protocol 3, its default; redis-server.
#
# Float64 of the result of Do returns an error for a reply that is a float64, as all scores are in RESP3: "unexpected
# type=float64 for Float64". With Protocol 2 it returns the number; so do the typed methods with both.
#
# Output seen:
#   Protocol 2, Do ZSCORE, Float64: 1.5 <nil>
#   Protocol 2, Do ZMSCORE, Float64Slice: [1.5] <nil>
#   Protocol 2, ZScore: 1.5 <nil>
#   Protocol 3, Do ZSCORE, Float64: 0 redis: unexpected type=float64 for Float64
#   Protocol 3, Do ZMSCORE, Float64Slice: [] redis: unexpected type=float64 for Float64
#   Protocol 3, ZScore: 1.5 <nil>
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

	"github.com/redis/go-redis/v9"
)

func main() {
	const refused = "redis: unexpected type=float64 for Float64"
	ctx, failed := context.Background(), false
	expect := func(what, want string, value any, err error) {
		got := fmt.Sprint(value, " ", err)
		fmt.Printf("%s: %s\n", what, got)
		failed = failed || got != want
	}
	for _, c := range []struct {
		protocol         int
		one, slice, typed string
	}{{2, "1.5 <nil>", "[1.5] <nil>", "1.5 <nil>"}, {3, "0 " + refused, "[] " + refused, "1.5 <nil>"}} {
		db, name := redis.NewClient(&redis.Options{Addr: "127.0.0.1:17931", Protocol: c.protocol}), fmt.Sprint("Protocol ", c.protocol)
		if err := db.ZAdd(ctx, "set", redis.Z{Score: 1.5, Member: "member"}).Err(); err != nil {
			panic(err)
		}
		one, err := db.Do(ctx, "ZSCORE", "set", "member").Float64()
		expect(name+", Do ZSCORE, Float64", c.one, one, err)
		slice, err := db.Do(ctx, "ZMSCORE", "set", "member").Float64Slice()
		expect(name+", Do ZMSCORE, Float64Slice", c.slice, slice, err)
		score, err := db.ZScore(ctx, "set", "member").Result()
		expect(name+", ZScore", c.typed, score, err)
	}
	if failed {
		os.Exit(1)
	}
}
END
build github.com/redis/go-redis/v9@v9.23.0
./main
