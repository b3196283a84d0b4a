#!/bin/sh
# asynq 0.26.0; redis-server.
#
# asynq.Timeout(500 * time.Millisecond) gives the task 30 minutes, as if no timeout were set: the message holds whole seconds,
# rounded down. Enqueue returns no error; the server logs "internal error: both timeout and deadline are not
# set". A timeout of 1.9 s is 1 s.
#
# Output seen:
#   Timeout(1.9s): the info of the task says 1s, its context ends within 1s
#   Timeout(500ms): the info of the task says 0s, its context ends within 30m0s
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

	"github.com/hibiken/asynq"
)

func main() {
	db, left := asynq.RedisClientOpt{Addr: "127.0.0.1:17931"}, make(chan time.Duration)
	server := asynq.NewServer(db, asynq.Config{Concurrency: 1, LogLevel: asynq.FatalLevel})
	err := server.Start(asynq.HandlerFunc(func(ctx context.Context, _ *asynq.Task) error {
		deadline, _ := ctx.Deadline()
		left <- time.Until(deadline)
		return nil
	}))
	if err != nil {
		panic(err)
	}
	client, failed := asynq.NewClient(db), false
	for _, c := range []struct {
		timeout time.Duration
		want    string
	}{
		{1900 * time.Millisecond, "the info of the task says 1s, its context ends within 1s"},
		{500 * time.Millisecond, "the info of the task says 0s, its context ends within 30m0s"},
	} {
		info, err := client.Enqueue(asynq.NewTask("task", nil), asynq.Timeout(c.timeout))
		if err != nil {
			panic(err)
		}
		within := <-left
		for _, most := range []time.Duration{time.Second, 2 * time.Second, 30 * time.Minute} {
			if within <= most {
				within = most
				break
			}
		}
		got := fmt.Sprintf("the info of the task says %v, its context ends within %v", info.Timeout, within)
		fmt.Printf("Timeout(%v): %s\n", c.timeout, got)
		failed = failed || got != c.want
	}
	server.Shutdown()
	if failed {
		os.Exit(1)
	}
}
END
build github.com/hibiken/asynq@v0.26.0
./main
