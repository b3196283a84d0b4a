package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/live"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
)

// load is the load of goroutines that share one Sender, with its counts.
type load struct {
	db      redis.SyncCtx
	latency latencies
	errors  atomic.Int64
	unknown atomic.Int64          // errors after which the request may have run
	first   atomic.Pointer[error] // the first error, for the report

	calls   []atomic.Int64 // by goroutine, the number of calls that have ended
	workers sync.WaitGroup
	stopped atomic.Bool
}

// start starts goroutines that alternate SET and GET until stop is called or the context ends. Each
// sends at least one request before stop ends it.
func (l *load) start(ctx context.Context, goroutines int) {
	l.calls = make([]atomic.Int64, goroutines)
	for i := range goroutines {
		l.workers.Go(func() { l.worker(ctx, key(i), &l.calls[i]) })
	}
}

// stop ends the load. It returns when all goroutines have their last answers.
func (l *load) stop() {
	l.stopped.Store(true)
	l.workers.Wait()
}

func (l *load) worker(ctx context.Context, key string, calls *atomic.Int64) {
	value := []byte("sixteen bytes...")
	start := time.Now()
	for i := 0; ctx.Err() == nil && (i == 0 || !l.stopped.Load()); i++ {
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
		calls.Add(1)
	}
}

// answered waits until each goroutine has ended two calls without an error. The first of these may
// have begun long before.
func (l *load) answered(ctx context.Context) error {
	before := make([]int64, len(l.calls))
	failed := int64(-1)
	for start := time.Now(); time.Since(start) < 30*time.Second && ctx.Err() == nil; pause(ctx, 10*time.Millisecond) {
		if n := l.errors.Load(); n != failed { // a call has failed: begin again
			failed = n
			for i := range l.calls {
				before[i] = l.calls[i].Load()
			}
		}
		waiting := false
		for i := range l.calls {
			waiting = waiting || l.calls[i].Load() < before[i]+2
		}
		if !waiting && l.errors.Load() == failed {
			return nil
		}
	}
	if first := l.first.Load(); first != nil {
		return fmt.Errorf("calls still fail, or wait: %w", *first)
	}
	return errors.Join(errors.New("calls still wait"), ctx.Err())
}

func (l *load) fail(err *errorx.Error) {
	l.errors.Add(1)
	if redis.OutcomeOf(err) == redis.OutcomeUnknown {
		l.unknown.Add(1)
	}
	var first error = err
	l.first.CompareAndSwap(nil, &first)
}

// explain prints what the errors mean.
func (l *load) explain() {
	n := l.errors.Load()
	if n == 0 {
		return
	}
	unknown := l.unknown.Load()
	paragraph(fmt.Sprintf("Of the %s errors, %s mean that the request did not run, because it could not be sent or a "+
		"server refused it: a retry is safe. %s mean that it was sent and not answered, so it may have run.",
		thousands(n), thousands(n-unknown), thousands(unknown)))
	paragraph("This program sends like a client of redispipe.Open (redis.WithRetry): what is safe to send again is sent " +
		"again for 3 s, or until the deadline of the call. An error is what remains: a write that may have run, or a call " +
		"that waited for longer.")
	paragraph(fmt.Sprint("The first error: ", *l.first.Load()))
}

// err returns nil if all requests were answered.
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

// showLoad puts a load on one connection, first with one goroutine and then with a thousand, and
// prints the figures.
func showLoad(ctx context.Context, addr, password string, duration time.Duration) error {
	conn, err := connect(ctx, addr, password)
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

// connect returns a connection that logs nothing, so that the output has only the figures.
func connect(ctx context.Context, addr, password string) (*redisconn.Connection, error) {
	return redisconn.Connect(ctx, addr, redisconn.Opts{Password: password, Logger: redisconn.NoopLogger{}})
}

// measure runs a load and returns its figures.
func measure(ctx context.Context, conn *redisconn.Connection, goroutines int, duration time.Duration) (figures, error) {
	db := redis.SyncCtx{S: conn}
	l := &load{db: db}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	first := live.Of(conn.Stats())
	show := liveSince(first, func() live.Sample { return live.Of(conn.Stats()) })
	stopProgress := progress(func(elapsed time.Duration) string {
		return fmt.Sprintf("goroutines: %d, %.1f s:\n    %s", goroutines, elapsed.Seconds(), show())
	})
	start := time.Now()
	l.start(ctx, goroutines)
	pause(ctx, duration)
	l.stop()
	elapsed := time.Since(start)
	stopProgress()
	runtime.ReadMemStats(&after)
	latency := l.latency.snapshot()
	total := float64(latency.Count())
	return figures{
		goroutines:    goroutines,
		perSecond:     total / elapsed.Seconds(),
		perWrite:      live.Between(first, live.Of(conn.Stats()), 0).PerWrite,
		p50:           latency.Quantile(0.50),
		p99:           latency.Quantile(0.99),
		allocsRequest: float64(after.Mallocs-before.Mallocs) / max(total, 1),
	}, l.err()
}

// liveSince returns a function that describes what happened since its last call.
func liveSince(last live.Sample, now func() live.Sample) func() string {
	at := time.Now()
	return func() string {
		from, since := last, at
		last, at = now(), time.Now()
		return shown(from, last, at.Sub(since))
	}
}

// pause returns after d, or when the context ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// deleteKeys deletes the keys of the load and the queue. It has its own context, so that it also
// works after Ctrl-C.
func deleteKeys(db redis.SyncCtx, n int) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	reqs := []redis.Request{redis.Req("DEL", jobs)}
	for i := range n {
		reqs = append(reqs, redis.Req("DEL", key(i)))
	}
	db.SendMany(ctx, reqs)
}
