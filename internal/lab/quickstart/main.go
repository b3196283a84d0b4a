// Command quickstart shows redispipe at work: make run, or make run CLUSTER=1.
//
// It runs the usage example of usage.go, lets a thousand goroutines share one connection, and then
// adds workers that wait for jobs: see queue.go. The server is a miniredis in a separate process,
// or the one that $REDIS_ADDR names ($REDIS_PASSWORD is used if it is set). On that server the
// program touches only keys that begin with "quickstart:", and deletes them.
//
// With -cluster it starts a local cluster instead, and moves slots and fails over masters while
// requests go on: see cluster.go. With -sentinel it starts a master with replicas and sentinels,
// and makes replicas replace the master: see sentinel.go. With -cache it starts a server, and shows
// a counter of pages with a cache and without: see pages.go. With -watch URL it shows the
// statistics of another process: see watch.go.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"

	"github.com/joomcode/redispipe/redisconn"
)

func main() {
	cluster := flag.Bool("cluster", false, "start a local cluster (needs redis-server) and reshard it under load")
	sentinel := flag.Bool("sentinel", false, "start a local master with replicas and sentinels (needs redis-server) and replace the master under load")
	cache := flag.Bool("cache", false, "start a local server (needs redis-server) and read from it with a cache and without")
	duration := flag.Duration("duration", 4*time.Second, "how long the load lasts")
	watched := flag.String("watch", "", "show what another process does: the URL of its expvar page, or of its metrics for Prometheus")
	serve := flag.Bool("serve-miniredis", false, "be the embedded server, until standard input ends")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()

	var err error
	switch {
	case *serve:
		err = serveMiniredis(os.Stdin, os.Stdout)
	case *watched != "":
		err = watch(ctx, *watched, time.Second, os.Stdout)
	case *cluster:
		err = runCluster(ctx, *duration, redisconn.Opts{})
	case *cache:
		err = runCache(ctx, *duration)
	case *sentinel:
		err = runSentinel(ctx, *duration)
	default:
		err = runSingle(ctx, *duration)
	}
	if ctx.Err() != nil {
		fmt.Println("\ninterrupted")
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(1)
	}
}

// runSingle shows one connection, to the server that REDIS_ADDR names or to the embedded one.
func runSingle(ctx context.Context, duration time.Duration) error {
	addr, password := os.Getenv("REDIS_ADDR"), os.Getenv("REDIS_PASSWORD")
	if addr == "" {
		server, err := startMiniredis(ctx)
		if err != nil {
			return err
		}
		defer server.stop()
		addr, password = server.addr, ""
		fmt.Println("Server: miniredis, a small stand-in written in Go. For figures of a real one:")
		fmt.Println("  REDIS_ADDR=127.0.0.1:6379 make run")
	} else {
		fmt.Println("Server:", addr)
		if err := reach(ctx, addr, password); err != nil {
			return err
		}
	}

	fmt.Println("\nThe usage example (internal/lab/quickstart/usage.go):")
	if err := usage(ctx, addr, password); err != nil {
		return err
	}
	fmt.Println("\nMany goroutines, one connection:")
	if err := showLoad(ctx, addr, password, duration); err != nil {
		return err
	}
	fmt.Println("\nA queue beside many goroutines (internal/lab/quickstart/queue.go):")
	return showQueue(ctx, addr, password, duration/2)
}

// reach returns an error if the server that REDIS_ADDR names can't be used, after two seconds at
// the latest. Without this check, the first request would wait for a connection for a minute,
// without any output.
func reach(ctx context.Context, addr, password string) error {
	conn, err := redisconn.Connect(ctx, addr, redisconn.Opts{
		Password: password, ReconnectPause: -1, DialTimeout: 2 * time.Second, Logger: redisconn.NoopLogger{},
	})
	if err != nil {
		return fmt.Errorf("the server of REDIS_ADDR can't be used: %w", err)
	}
	conn.Close()
	return nil
}
