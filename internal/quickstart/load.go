package main

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
)

// load is what goroutines that share one Sender do to it, counted.
type load struct {
	db      redis.SyncCtx
	latency histogram
	errors  atomic.Int64
	notSent atomic.Int64          // those of the errors after which a retry is safe
	first   atomic.Pointer[error] // the first error, for the report

	workers sync.WaitGroup
	stopped atomic.Bool
}

// start has goroutines send SET and GET in turn until stop is called or the
// context ends.
func (l *load) start(ctx context.Context, goroutines int) {
	for i := range goroutines {
		l.workers.Go(func() { l.worker(ctx, key(i)) })
	}
}

// stop returns when all goroutines have their last answer.
func (l *load) stop() {
	l.stopped.Store(true)
	l.workers.Wait()
}

func (l *load) worker(ctx context.Context, key string) {
	value := []byte("sixteen bytes...")
	start := time.Now()
	for i := 0; !l.stopped.Load() && ctx.Err() == nil; i++ {
		var res any
		if i%2 == 0 {
			res = l.db.Do(ctx, "SET", key, value)
		} else {
			res = l.db.Do(ctx, "GET", key)
		}
		now := time.Now()
		l.latency.add(now.Sub(start))
		start = now
		if err := redis.AsErrorx(res); err != nil {
			l.fail(err)
		}
	}
}

func (l *load) fail(err *errorx.Error) {
	l.errors.Add(1)
	if err.HasTrait(redis.ErrTraitNotSent) {
		l.notSent.Add(1)
	}
	var first error = err
	l.first.CompareAndSwap(nil, &first)
}

// err is nil if all requests were answered.
func (l *load) err() error {
	if n := l.errors.Load(); n > 0 {
		return fmt.Errorf("%d requests failed, the first one with: %w", n, *l.first.Load())
	}
	return nil
}

func key(i int) string { return "quickstart:" + strconv.Itoa(i) }

// figures are the results of a load.
type figures struct {
	goroutines    int
	perSecond     float64
	perWrite      float64
	p50, p99      time.Duration
	allocsRequest float64
}

// showLoad puts a load on one connection, first of one goroutine and then of a
// thousand, and prints what came out.
func showLoad(ctx context.Context, addr, password string, duration time.Duration) error {
	conn, err := redisconn.Connect(ctx, addr, redisconn.Opts{
		Password: password,
		Logger:   redisconn.NoopLogger{},
	})
	if err != nil {
		return err
	}
	defer conn.Close()
	db := redis.SyncCtx{S: conn}
	const many = 1000
	defer deleteKeys(db, many)

	var results []figures
	for _, part := range []struct {
		goroutines int
		duration   time.Duration
	}{{1, duration / 4}, {many, duration}} {
		f, err := measure(ctx, conn, part.goroutines, part.duration)
		if err != nil {
			return err
		}
		results = append(results, f)
	}
	printFigures(results)
	return nil
}

// measure runs a load and works out its figures.
func measure(ctx context.Context, conn *redisconn.Connection, goroutines int, duration time.Duration) (figures, error) {
	db := redis.SyncCtx{S: conn}
	l := &load{db: db}
	var before, after runtime.MemStats
	readsBefore, err := serverReads(ctx, db)
	if err != nil {
		return figures{}, err
	}
	runtime.ReadMemStats(&before)
	last := conn.Stats()
	stopProgress := progress(func(elapsed time.Duration) string {
		previous := last
		last = conn.Stats()
		return fmt.Sprintf("%d goroutines, %.1f s: %s", goroutines, elapsed.Seconds(), live(previous, last))
	})
	start := time.Now()
	l.start(ctx, goroutines)
	pause(ctx, duration)
	l.stop()
	elapsed := time.Since(start)
	stopProgress()
	runtime.ReadMemStats(&after)
	readsAfter, err := serverReads(ctx, db)
	if err != nil {
		return figures{}, err
	}
	total := float64(l.latency.total())
	return figures{
		goroutines:    goroutines,
		perSecond:     total / elapsed.Seconds(),
		perWrite:      total / float64(max(readsAfter-readsBefore, 1)),
		p50:           l.latency.percentile(0.50),
		p99:           l.latency.percentile(0.99),
		allocsRequest: float64(after.Mallocs-before.Mallocs) / max(total, 1),
	}, l.err()
}

// live tells what a connection has done between two snapshots.
func live(from, to redisconn.Stats) string {
	writes := max(to.Writes-from.Writes, 1)
	line := fmt.Sprintf("%s requests, %.1f/write; median", thousands(int64(to.Requests()-from.Requests())),
		float64(to.WrittenRequests-from.WrittenRequests)/float64(writes))
	for _, stage := range []redis.Stage{redis.StageQueue, redis.StageWire, redis.StageReading} {
		line += fmt.Sprintf(" %s %s", stage, round(to.Stage(stage).Since(from.Stage(stage)).Quantile(0.5)))
	}
	return line
}

// pause returns after d, or when the context ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// serverReads returns how often the server has read from its sockets, which
// is about how often clients have written to them.
func serverReads(ctx context.Context, db redis.SyncCtx) (int64, error) {
	res := db.Do(ctx, "INFO", "stats")
	if err := redis.AsError(res); err != nil {
		return 0, err
	}
	info, _ := res.([]byte)
	for line := range strings.Lines(string(info)) {
		if n, ok := strings.CutPrefix(strings.TrimSpace(line), "total_reads_processed:"); ok {
			return strconv.ParseInt(n, 10, 64)
		}
	}
	return 0, fmt.Errorf("INFO stats has no total_reads_processed: it takes Redis 6 or later")
}

// deleteKeys removes what the load has left. It has a context of its own, so
// that it works after Ctrl-C too.
func deleteKeys(db redis.SyncCtx, n int) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	reqs := make([]redis.Request, n)
	for i := range reqs {
		reqs[i] = redis.Req("DEL", key(i))
	}
	db.SendMany(ctx, reqs)
}
