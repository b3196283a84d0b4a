// Command recipes compares the recipes of contrib/redisrecipes with the libraries that programs in Go use today, on
// one server and in one process, in turns:
//
//	go run ./recipes
package main

import (
	"context"
	"fmt"
	"log"
	"slices"
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

// side is a library. op is one operation of a caller.
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
	cancelled(ours, server.Addr())
	for _, c := range slices.Concat(limits(ours, theirs), locks(ours, theirs), asides(ours, server.Addr())) {
		c.run()
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// run prints the median rate of each side, and the slowest and the fastest round.
func (c contest) run() {
	rates := make([][]float64, len(c.sides))
	for range rounds {
		for i, s := range c.sides {
			rates[i] = append(rates[i], s.rate(c.callers))
		}
	}
	for i, s := range c.sides {
		slices.Sort(rates[i])
		fmt.Printf("%-40s %-14s %9.0f/s (%.0f to %.0f)\n", c.name, s.name, rates[i][rounds/2], rates[i][0], rates[i][rounds-1])
	}
}

func (s side) rate(callers int) float64 {
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
	return float64(n.Load()) / time.Since(began).Seconds()
}
