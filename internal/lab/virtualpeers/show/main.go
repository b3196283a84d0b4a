// Command show runs jobs with asynq, and locks and counters beside them, over go-redis: first with
// the sockets that go-redis dials, and then over virtual connections, on one socket.
//
//	make run GOREDIS=1
//
// Show starts a redis-server, or uses the server that $REDIS_ADDR names ($REDIS_PASSWORD is used if
// it is set). There it uses keys that begin with "quickstart:", and asynq's queue "quickstart", and
// deletes them.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/redis/go-redis/v9"

	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redisvirtual"
	"github.com/joomcode/redispipe/testbed"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := run(ctx, os.Getenv("REDIS_ADDR"), os.Getenv("REDIS_PASSWORD"), tasksWanted)
	if ctx.Err() != nil {
		fmt.Println("\ninterrupted")
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "show:", err)
		os.Exit(1)
	}
}

// run shows the same work twice, on the server at addr or, if that is empty, on a server that it
// starts.
func run(ctx context.Context, addr, password string, tasks int) error {
	if addr == "" {
		server, err := testbed.Start(testbed.Options{})
		if err != nil {
			return err
		}
		defer server.Close()
		addr, password = server.Addr(), ""
	}
	fmt.Printf("Server: %s\n\n", addr)
	fmt.Printf("%d tasks of asynq: %d goroutines put them into the queue, %d workers take them, each with a\n", tasks, producers, workers)
	fmt.Printf("lock of redislock and a counter. Beside them %d goroutines send SET and GET.\n\n", neighbours)

	shared, err := redisconn.Connect(ctx, addr, redisconn.Opts{Password: password, Logger: redisconn.NoopLogger{}})
	if err != nil {
		return err
	}
	defer shared.Close()
	printHead()
	for _, by := range []struct {
		name string
		opts redis.Options
	}{
		{"sockets of its own", redis.Options{Addr: addr, Password: password, PoolSize: pool}},
		{"virtual connections", redis.Options{Addr: addr, Password: password, PoolSize: pool, Dialer: redisvirtual.Dialer(shared)}},
	} {
		figures, err := measure(ctx, &by.opts, shared, tasks)
		if err != nil {
			return fmt.Errorf("%s: %w", by.name, err)
		}
		figures.print(by.name)
	}
	fmt.Println("\nNothing in asynq, redislock or go-redis was changed: go-redis has another Dialer")
	fmt.Println("(docs/virtual.md). Sockets are counted beside the shared one; asynq subscribes on one.")
	return nil
}
