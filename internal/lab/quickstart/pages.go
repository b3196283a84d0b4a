package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscache"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redisreply"
	"github.com/joomcode/redispipe/testbed"
)

// Visitors look at pages. Some pages are popular. One view in a hundred is counted.
const (
	visitors    = 128
	pages       = 1000
	countedEach = 100
)

// visits counts what visitors did. behind counts the views that did not show what the same visitor
// had counted before.
type visits struct{ looks, behind atomic.Int64 }

// runCache makes visitors read the counters of pages and count their visits: without a cache, and
// with one while another client counts visits as well.
func runCache(ctx context.Context, duration time.Duration) error {
	server, err := testbed.Start(testbed.Options{})
	if err != nil {
		return err
	}
	defer server.Close()
	conn, err := connect(ctx, server.Addr(), "")
	if err != nil {
		return err
	}
	defer conn.Close()
	other, err := connect(ctx, server.Addr(), "")
	if err != nil {
		return err
	}
	defer other.Close()
	for page := range pages {
		if err := redis.Err(redis.SyncCtx{S: other}.Do(ctx, "SET", "page:"+strconv.Itoa(page), 0)); err != nil {
			return err
		}
	}
	cache, err := rediscache.New(conn, rediscache.Opts{Prefixes: []string{"page:"}})
	if err != nil {
		return err
	}
	fmt.Printf("%d visitors of %d pages, one process, one redis-server:\n", visitors, pages)
	const row = "  %-15s %9s %7s %20s %20s\n"
	fmt.Printf(row, "", "reads/s", "hits", "requests/s at server", "older than own INCR")
	for _, part := range []struct {
		name string
		s    redis.Sender
	}{{"without a cache", conn}, {"with a cache", cache}} {
		before, served := cache.Stats(), servedBy(server)
		start := time.Now()
		v, err := visit(ctx, part.s, other, duration)
		if err != nil {
			return err
		}
		elapsed := time.Since(start).Seconds()
		after := cache.Stats()
		fmt.Printf(row, part.name, thousands(int64(float64(v.looks.Load())/elapsed)),
			fmt.Sprintf("%.1f %%", 100*float64(after.Hits-before.Hits)/float64(max(v.looks.Load(), 1))),
			thousands(int64(float64(servedBy(server)-served)/elapsed)), thousands(v.behind.Load()))
	}
	stats := cache.Stats()
	fmt.Printf("  The cache has %.1f of at most %.1f MiB; %d of %d masters tell it of changes.\n",
		float64(stats.Bytes)/(1<<20), float64(stats.MaxBytes)/(1<<20), stats.Leases, stats.Nodes)
	return nil
}

// visit makes visitors look at pages and count their visits, for the given duration.
func visit(ctx context.Context, s redis.Sender, other *redisconn.Connection, duration time.Duration) (v *visits, err error) {
	until := time.Now().Add(duration)
	v = new(visits)
	var failed atomic.Pointer[error]
	var all sync.WaitGroup
	work := func(db redis.SyncCtx, each int) {
		random := rand.New(rand.NewPCG(rand.Uint64(), 1))
		often := rand.NewZipf(random, 1.1, 1, pages-1)
		for ctx.Err() == nil && time.Now().Before(until) {
			page := "page:" + strconv.FormatUint(often.Uint64(), 10)
			if err := v.look(ctx, db, page, random.IntN(each) == 0); err != nil {
				failed.CompareAndSwap(nil, &err)
				return
			}
		}
	}
	for range visitors {
		all.Go(func() { work(redis.SyncCtx{S: s}, countedEach) })
	}
	all.Go(func() { work(redis.SyncCtx{S: other}, 1) })
	all.Wait()
	if first := failed.Load(); first != nil {
		return nil, *first
	}
	return v, nil
}

// look reads how often a page was visited. If this visit counts, it is counted first.
func (v *visits) look(ctx context.Context, db redis.SyncCtx, page string, counted bool) error {
	var count, seen int64
	if counted {
		if err := db.DoInto(ctx, &count, "INCR", page); err != nil {
			return err
		}
	}
	if err := db.DoInto(ctx, &seen, "GET", page); err != nil {
		return err
	}
	v.looks.Add(1)
	if seen < count {
		v.behind.Add(1)
	}
	return nil
}

// servedBy returns how many commands a server has processed.
func servedBy(server *testbed.Server) int64 {
	info, _ := redis.As[redisreply.Info](server.Do("INFO", "stats"))
	n, _ := strconv.ParseInt(info["stats"]["total_commands_processed"], 10, 64)
	return n
}
