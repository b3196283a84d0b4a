#!/bin/sh
# rueidiscompat 1.0.79, the interface of go-redis on top of rueidis, beside go-redis 9.23.0; redis-server.
#
# The same call stores another value, without an error. A *string or *int, which go-redis sends as what it points to, is
# stored as its address. 1e8 as a float64 is stored as "1e+08", which INCR refuses; go-redis stores 100000000. GetEx with
# 0 removes the expiration in go-redis, and keeps it here.
#
# Output seen:
#   go-redis, *int: 5, INCR of 1e8: 100000001, TTL after GetEx 0: -1ns
#   rueidiscompat, *int: an address, INCR of 1e8: ERR value is not an integer or out of range, TTL after GetEx 0: 1m0s
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
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidiscompat"
)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	const address = "127.0.0.1:17931"
	ctx, failed := context.Background(), false
	db := redis.NewClient(&redis.Options{Addr: address})
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{address}})
	must(err)
	other := rueidiscompat.NewAdapter(client)
	five := 5
	for _, c := range []struct {
		name, want string
		set        func(value any, ttl time.Duration) error
		getEx      func() error
	}{
		{"go-redis", "*int: 5, INCR of 1e8: 100000001, TTL after GetEx 0: -1ns",
			func(value any, ttl time.Duration) error { return db.Set(ctx, "key", value, ttl).Err() },
			func() error { return db.GetEx(ctx, "key", 0).Err() }},
		{"rueidiscompat", "*int: an address, INCR of 1e8: ERR value is not an integer or out of range, TTL after GetEx 0: 1m0s",
			func(value any, ttl time.Duration) error { return other.Set(ctx, "key", value, ttl).Err() },
			func() error { return other.GetEx(ctx, "key", 0).Err() }},
	} {
		must(c.set(&five, 0))
		stored, err := db.Get(ctx, "key").Result()
		must(err)
		if strings.HasPrefix(stored, "0x") {
			stored = "an address"
		}
		must(c.set(1e8, 0))
		n, err := db.Incr(ctx, "key").Result()
		incremented := fmt.Sprint(n)
		if err != nil {
			incremented = err.Error()
		}
		must(c.set("value", time.Minute))
		must(c.getEx())
		ttl, err := db.TTL(ctx, "key").Result()
		must(err)
		got := fmt.Sprintf("*int: %s, INCR of 1e8: %s, TTL after GetEx 0: %v", stored, incremented, ttl)
		fmt.Printf("%s, %s\n", c.name, got)
		failed = failed || got != c.want
	}
	if failed {
		os.Exit(1)
	}
}
END
build github.com/redis/go-redis/v9@v9.23.0 github.com/redis/rueidis@v1.0.79 github.com/redis/rueidis/rueidiscompat@v1.0.79
./main
