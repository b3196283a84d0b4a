#!/bin/sh
# go-zero 1.10.3, core/stores/redis; redis-server.
#
# A RedisLock without SetExpire lasts for half a second. Acquire returns true, and after half a second true to others,
# too. With SetExpire(1) it lasts for 1.5 s. Acquire of the lock that holds it returns true again and starts the time
# anew, so goroutines that share a RedisLock hold it at the same time.
#
# Output seen:
#   no SetExpire, PTTL: 500 or less
#   no SetExpire, another Acquire at once and 0.6 s later: false, true
#   SetExpire(1), PTTL: 1500 or less
#   SetExpire(1), Acquire of two goroutines that share the lock: true, true
#
# Wants go, redis-server and redis-cli.
dir=$(mktemp -d)
. "$(dirname "$0")/lib/start.sh"
redis 17931
cat >main.go <<'END'
package main

import (
	"fmt"
	"os"
	"time"

	"github.com/zeromicro/go-zero/core/logx"
	"github.com/zeromicro/go-zero/core/stores/redis"
)

var (
	store  = redis.MustNewRedis(redis.RedisConf{Host: "127.0.0.1:17931", Type: redis.NodeType})
	failed = false
)

func expect(what, want, got string) {
	fmt.Printf("%s: %s\n", what, got)
	failed = failed || got != want
}

func acquire(lock *redis.RedisLock) bool {
	ok, err := lock.Acquire()
	if err != nil {
		panic(err)
	}
	return ok
}

// left tells in steps of half a second how long the key lasts.
func left(key string) string {
	ms, err := store.Eval("return redis.call('pttl', KEYS[1])", []string{key})
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf("%d or less", (ms.(int64)+499)/500*500)
}

func main() {
	logx.Disable()
	acquire(redis.NewRedisLock(store, "lock"))
	other := redis.NewRedisLock(store, "lock")
	expect("no SetExpire, PTTL", "500 or less", left("lock"))
	at := acquire(other)
	time.Sleep(600 * time.Millisecond)
	expect("no SetExpire, another Acquire at once and 0.6 s later", "false, true", fmt.Sprintf("%v, %v", at, acquire(other)))

	shared, results := redis.NewRedisLock(store, "shared"), make(chan bool)
	shared.SetExpire(1)
	for range 2 {
		go func() { results <- acquire(shared) }()
	}
	one, two := <-results, <-results
	expect("SetExpire(1), PTTL", "1500 or less", left("shared"))
	expect("SetExpire(1), Acquire of two goroutines that share the lock", "true, true", fmt.Sprintf("%v, %v", one, two))
	if failed {
		os.Exit(1)
	}
}
END
build github.com/zeromicro/go-zero/core/stores/redis@v1.10.3
./main
