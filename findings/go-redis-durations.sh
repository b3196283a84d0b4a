#!/bin/sh
# go-redis 9.23.0.
#
# A duration of 1.9 s is exact for Set, which sends PX, but 1 s for Expire and BLPop, without
# an error or a line in the log: they send whole seconds, rounded down. Redis' BLPOP takes fractions.
#
# Output seen:
#   Set: [set k v px 1900]
#   Expire: [expire k 1]
#   BLPop: [blpop k 1]
#   SetEx: [setex k 1 v]
#
# Wants go.
dir=$(mktemp -d)
. "$(dirname "$0")/lib/start.sh"
cat >main.go <<'END'
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/redis/go-redis/v9"
)

// sent stops each command, and keeps what would be sent.
type sent struct{ args string }

func (s *sent) DialHook(next redis.DialHook) redis.DialHook { return next }

func (s *sent) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (s *sent) ProcessHook(redis.ProcessHook) redis.ProcessHook {
	return func(_ context.Context, cmd redis.Cmder) error {
		s.args = fmt.Sprint(cmd.Args())
		return errors.New("not sent")
	}
}

func main() {
	const d = 1900 * time.Millisecond
	ctx, failed, s := context.Background(), false, &sent{}
	db := redis.NewClient(&redis.Options{Addr: "127.0.0.1:17931"})
	db.AddHook(s)
	for _, c := range []struct {
		name, want string
		call       func()
	}{
		{"Set", "[set k v px 1900]", func() { db.Set(ctx, "k", "v", d) }},
		{"Expire", "[expire k 1]", func() { db.Expire(ctx, "k", d) }},
		{"BLPop", "[blpop k 1]", func() { db.BLPop(ctx, d, "k") }},
		{"SetEx", "[setex k 1 v]", func() { db.SetEx(ctx, "k", "v", d) }},
	} {
		c.call()
		fmt.Printf("%s: %s\n", c.name, s.args)
		failed = failed || s.args != c.want
	}
	if failed {
		os.Exit(1)
	}
}
END
build github.com/redis/go-redis/v9@v9.23.0
./main
