// Command torture breaks things under a client for as long as it is told, and
// prints the totals. It ends with status 1 if a promise was broken.
//
//	go -C internal/lab/torture run ./cmd/torture -duration 10m
//	go -C internal/lab/torture run ./cmd/torture -cluster -duration 10m
//	go -C internal/lab/torture run ./cmd/torture -pubsub -duration 10m
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"time"

	"github.com/joomcode/redispipe/internal/lab/torture"
	"github.com/joomcode/redispipe/testbed"
)

func main() {
	duration := flag.Duration("duration", 10*time.Minute, "how long to run")
	round := flag.Duration("round", 20*time.Second, "how long a load runs between two judgements")
	every := flag.Duration("every", 0, "mean pause between two faults (default 1s, 3s with -cluster)")
	cluster := flag.Bool("cluster", false, "break a cluster of 3 masters and 3 replicas, instead of one connection")
	pubsub := flag.Bool("pubsub", false, "break what a subscriber listens to; with -cluster, nodes of a cluster")
	seed := flag.Int64("seed", time.Now().UnixNano(), "seed of all random choices")
	quiet := flag.Bool("quiet", false, "print the totals only")
	flag.Parse()
	testbed.RequireRedis()
	if *every <= 0 {
		*every = time.Second
		if *cluster { // each fault of a cluster takes about two seconds, until all nodes agree again
			*every = 3 * time.Second
		}
	}

	logf := func(format string, args ...any) {
		fmt.Printf("%s "+format+"\n", append([]any{time.Now().Format(time.TimeOnly)}, args...)...)
	}
	if *quiet {
		logf = nil
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	fmt.Printf("seed          %d\nstarted       %s, %s, %s/%s, %d CPUs\n", *seed,
		time.Now().Format(time.DateTime), runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	opts := torture.SoakOpts{
		Seed: *seed, Cluster: *cluster, Duration: *duration, Round: *round, FaultEvery: *every, Logf: logf,
	}
	soak := soakRequests
	if *pubsub {
		soak = soakPubSub
	}
	failed, err := soak(ctx, opts)
	if err != nil {
		fmt.Fprintln(os.Stderr, "torture:", err)
	}
	if err != nil || failed {
		os.Exit(1)
	}
}

func soakRequests(ctx context.Context, o torture.SoakOpts) (failed bool, err error) {
	totals, err := torture.Soak(ctx, o)
	if totals != nil && totals.Rounds > 0 {
		fmt.Println(totals)
	}
	return err == nil && totals.Report.Failed(), err
}

// soakPubSub fails with the first violation, as an error.
func soakPubSub(ctx context.Context, o torture.SoakOpts) (failed bool, err error) {
	totals, err := torture.PubSub(ctx, o)
	if totals != nil && totals.Rounds > 0 {
		fmt.Println(totals)
	}
	return false, err
}
