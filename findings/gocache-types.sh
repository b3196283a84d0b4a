#!/bin/sh
# eko/gocache: lib 4.2.3 with store/redis 4.2.6; redis-server.
#
# A cache of another type than string returns the zero value of its type for what it has stored in Redis, without
# an error: the store returns a string. A value that does not expire has the TTL -1 ns, and if
# the store can't keep a tag, Set returns no error, and Invalidate deletes nothing, without one either.
#
# Output seen:
#   string: "7" <nil>
#   int64: 0 <nil>
#   []byte: [] <nil>
#   TTL: -1ns <nil>
#   Set with a tag that is no set: <nil>, Invalidate: <nil>, then Get: v <nil>
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

	"github.com/eko/gocache/lib/v4/cache"
	"github.com/eko/gocache/lib/v4/store"
	rstore "github.com/eko/gocache/store/redis/v4"
	"github.com/redis/go-redis/v9"
)

var (
	ctx    = context.Background()
	db     = redis.NewClient(&redis.Options{Addr: "127.0.0.1:17931"})
	failed = false
)

func expect(got, want string) {
	fmt.Println(got)
	failed = failed || got != want
}

func stored[T any](value T) (T, error) {
	c := cache.New[T](rstore.NewRedis(db))
	if err := c.Set(ctx, "k", value); err != nil {
		panic(err)
	}
	return c.Get(ctx, "k")
}

func main() {
	text, err := stored("7")
	expect(fmt.Sprintf("string: %q %v", text, err), `string: "7" <nil>`)
	number, err := stored(int64(7))
	expect(fmt.Sprintf("int64: %d %v", number, err), "int64: 0 <nil>")
	bytes, err := stored([]byte("7"))
	expect(fmt.Sprintf("[]byte: %v %v", bytes, err), "[]byte: [] <nil>")

	c := cache.New[string](rstore.NewRedis(db))
	_, ttl, err := c.GetWithTTL(ctx, "k")
	expect(fmt.Sprintf("TTL: %v %v", ttl, err), "TTL: -1ns <nil>")

	db.Set(ctx, "gocache_tag_t", "a string", 0)
	set := c.Set(ctx, "k", "v", store.WithTags([]string{"t"}))
	invalidate := c.Invalidate(ctx, store.WithInvalidateTags([]string{"t"}))
	v, err := c.Get(ctx, "k")
	expect(fmt.Sprintf("Set with a tag that is no set: %v, Invalidate: %v, then Get: %s %v", set, invalidate, v, err),
		"Set with a tag that is no set: <nil>, Invalidate: <nil>, then Get: v <nil>")
	if failed {
		os.Exit(1)
	}
}
END
build github.com/eko/gocache/lib/v4/cache@v4.2.3 github.com/eko/gocache/store/redis/v4@v4.2.6 github.com/redis/go-redis/v9@v9.13.0
./main
