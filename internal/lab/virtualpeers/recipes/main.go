// Command recipes compares the recipes of contrib/redisrecipes with the libraries that programs in Go use today, on
// one server and in one process, in turns. It prints rates, and the processor time of the server for each operation. An
// argument chooses the comparisons whose names contain it:
//
//	go run ./recipes limit
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/joomcode/redispipe"
	"github.com/joomcode/redispipe/testbed"
)

// contest compares the same operation of several libraries.
type contest struct {
	name    string
	callers int
	sides   []side
}

// side is one library. op makes one operation for a caller.
type side struct {
	name string
	op   func(ctx context.Context, caller int) error
}

const (
	rounds = 5
	round  = 400 * time.Millisecond
)

func main() {
	log.SetFlags(0)
	server, err := testbed.Start(testbed.Options{})
	check(err)
	defer server.Close()
	ours, err := redispipe.Open(context.Background(), "redis://"+server.Addr(), redispipe.Logger(nil))
	check(err)
	defer ours.Close()
	theirs := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer func() { _ = theirs.Close() }()
	if len(os.Args) < 2 {
		cancelled(ours, server.Addr())
	}
	for _, c := range slices.Concat(limits(ours, theirs), locks(ours, theirs), asides(ours, server.Addr())) {
		if len(os.Args) < 2 || strings.Contains(c.name, os.Args[1]) {
			c.run(server)
		}
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// run prints the median rate of each library, the rates of its slowest and fastest round, and the
// CPU time that the server has used for each call.
func (c contest) run(server *testbed.Server) {
	rates, used, ops := make([][]float64, len(c.sides)), make([]time.Duration, len(c.sides)), make([]float64, len(c.sides))
	for range rounds {
		for i, s := range c.sides {
			before, err := server.CPU()
			check(err)
			n, took := s.turn(c.callers)
			after, err := server.CPU()
			check(err)
			rates[i], used[i], ops[i] = append(rates[i], n/took.Seconds()), used[i]+after-before, ops[i]+n
		}
	}
	for i, s := range c.sides {
		slices.Sort(rates[i])
		fmt.Printf("%-40s %-14s %9.0f/s (%.0f to %.0f), server %.1f µs\n", c.name, s.name,
			rates[i][rounds/2], rates[i][0], rates[i][rounds-1], float64(used[i].Microseconds())/ops[i])
	}
}

// turn lets the callers call op for a round. It returns the number of calls, and the time that they took.
func (s side) turn(callers int) (calls float64, took time.Duration) {
	ctx, done := context.Background(), atomic.Bool{}
	var n atomic.Int64
	var group sync.WaitGroup
	began := time.Now()
	for caller := range callers {
		group.Go(func() {
			for !done.Load() {
				check(s.op(ctx, caller))
				n.Add(1)
			}
		})
	}
	time.Sleep(round)
	done.Store(true)
	group.Wait()
	return float64(n.Load()), time.Since(began)
}
