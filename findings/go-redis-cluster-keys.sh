#!/bin/sh
# go-redis 9.23.0, a ClusterClient of three masters.
#
# DBSize adds up all masters. Keys, Scan and FlushAll reach one of them, which chance chooses, and
# return no error; so does DBSize in a pipeline.
#
# Output seen:
#   DBSize: 60
#   DBSize in a pipeline: some
#   Keys: some
#   Scan: some
#   DBSize after FlushAll: some
#
# Wants go, redis-server and redis-cli.
dir=$(mktemp -d)
. "$(dirname "$0")/lib/start.sh"
cluster 17931 17932 17933
cat >main.go <<'END'
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/redis/go-redis/v9"
)

func main() {
	ctx, failed := context.Background(), false
	db := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"127.0.0.1:17931"}})
	expect := func(what, want string, n int64, err error) {
		got := fmt.Sprint(n)
		if 0 < n && n < 60 {
			got = "some"
		}
		fmt.Println(what+":", got)
		failed = failed || err != nil || got != want
	}
	for i := range 60 {
		if err := db.Set(ctx, fmt.Sprint("key", i), i, 0).Err(); err != nil {
			panic(err)
		}
	}
	n, err := db.DBSize(ctx).Result()
	expect("DBSize", "60", n, err)
	var size *redis.IntCmd
	_, err = db.Pipelined(ctx, func(p redis.Pipeliner) error { size = p.DBSize(ctx); return nil })
	expect("DBSize in a pipeline", "some", size.Val(), err)
	keys, err := db.Keys(ctx, "*").Result()
	expect("Keys", "some", int64(len(keys)), err)
	found, scan := int64(0), db.Scan(ctx, 0, "*", 1000).Iterator()
	for scan.Next(ctx) {
		found++
	}
	expect("Scan", "some", found, scan.Err())
	flushed := db.FlushAll(ctx).Err()
	n, err = db.DBSize(ctx).Result()
	if flushed != nil {
		err = flushed
	}
	expect("DBSize after FlushAll", "some", n, err)
	if failed {
		os.Exit(1)
	}
}
END
build github.com/redis/go-redis/v9@v9.23.0
./main
