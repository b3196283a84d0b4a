package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bsm/redislock"
	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	own "github.com/joomcode/redispipe/redis"
)

const (
	tasksWanted = 1000
	producers   = 50
	workers     = 50
	neighbours  = 100
	pool        = 300 // for all goroutines together
	queue       = "quickstart"
)

// work is the work that runs over one client of go-redis.
type work struct {
	rdb    *redis.Client
	done   atomic.Int64 // tasks that are done
	beside atomic.Int64 // requests of the neighbours
	failed atomic.Int64 // failed requests and tasks
	first  atomic.Pointer[error]
}

func (w *work) fail(err error) {
	w.failed.Add(1)
	w.first.CompareAndSwap(nil, &err)
}

// measure does the work over go-redis with these options, and then deletes its keys. shared counts
// the sockets of the server.
func measure(ctx context.Context, o *redis.Options, shared own.Sender, tasks int) (figures, error) {
	rdb := redis.NewClient(o)
	defer func() { _ = rdb.Close() }()
	w := &work{rdb: rdb}
	db := own.SyncCtx{S: shared}
	if err := w.clean(ctx); err != nil {
		return figures{}, err
	}
	before, err := sockets(ctx, db)
	if err != nil {
		return figures{}, err
	}
	start := time.Now()
	var f figures
	var most int
	err = w.run(ctx, tasks, func() error {
		now, err := sockets(ctx, db)
		most = max(most, now-before)
		return err
	})
	f.elapsed, f.tasks, f.beside, f.sockets, f.failed = time.Since(start), w.done.Load(), w.beside.Load(), most, w.failed.Load()
	if first := w.first.Load(); first != nil {
		err = errors.Join(err, *first)
	}
	return f, errors.Join(err, w.clean(context.WithoutCancel(ctx)))
}

// run returns when all tasks are done. It calls look from time to time.
func (w *work) run(ctx context.Context, tasks int, look func() error) error {
	server := asynq.NewServerFromRedisClient(w.rdb, asynq.Config{
		Concurrency: workers, Queues: map[string]int{queue: 1}, LogLevel: asynq.FatalLevel, TaskCheckInterval: 10 * time.Millisecond,
	})
	if err := server.Start(asynq.HandlerFunc(w.task)); err != nil {
		return err
	}
	var busy sync.WaitGroup
	ctx, stop := context.WithCancel(ctx)
	for i := range neighbours { // until stop is closed
		busy.Go(func() { w.neighbour(ctx, i) })
	}
	client := asynq.NewClientFromRedisClient(w.rdb)
	var left atomic.Int64
	left.Store(int64(tasks))
	for range producers { // each ends when all tasks are in the queue, or the work is given up
		busy.Go(func() {
			for left.Add(-1) >= 0 && ctx.Err() == nil {
				if _, err := client.EnqueueContext(ctx, asynq.NewTask("work", nil), asynq.Queue(queue)); err != nil {
					w.fail(err)
					return
				}
			}
		})
	}
	var err error
	for err == nil && ctx.Err() == nil && w.failed.Load() == 0 && w.done.Load() < int64(tasks) {
		time.Sleep(10 * time.Millisecond)
		err = look()
	}
	err = errors.Join(err, ctx.Err())
	stop()
	busy.Wait()
	server.Shutdown()
	return err
}

// task is the work of a worker: it takes one of many locks and increments a counter.
func (w *work) task(ctx context.Context, _ *asynq.Task) error {
	defer w.done.Add(1)
	id := w.done.Load()
	lock, err := redislock.New(w.rdb).Obtain(ctx, fmt.Sprint("quickstart:lock:", id%1000), time.Minute,
		&redislock.Options{RetryStrategy: redislock.LinearBackoff(time.Millisecond)})
	if err == nil {
		err = errors.Join(w.rdb.Incr(ctx, "quickstart:count").Err(), lock.Release(ctx))
	}
	if err != nil {
		w.fail(err)
	}
	return err
}

func (w *work) neighbour(ctx context.Context, i int) {
	key := "quickstart:" + strconv.Itoa(i)
	for n := 0; ctx.Err() == nil; n++ {
		err := w.rdb.Set(ctx, key, n, 0).Err()
		if err == nil {
			err = w.rdb.Get(ctx, key).Err()
		}
		if err != nil {
			if ctx.Err() == nil {
				w.fail(err)
			}
			return
		}
		w.beside.Add(2)
	}
}

// clean deletes what the work leaves.
func (w *work) clean(ctx context.Context) error {
	keys := []string{"quickstart:count"}
	for i := range neighbours {
		keys = append(keys, "quickstart:"+strconv.Itoa(i))
	}
	err := asynq.NewInspectorFromRedisClient(w.rdb).DeleteQueue(queue, true)
	if errors.Is(err, asynq.ErrQueueNotFound) {
		err = nil
	}
	return errors.Join(err, w.rdb.Del(ctx, keys...).Err())
}

// sockets returns the number of sockets of the server.
func sockets(ctx context.Context, db own.SyncCtx) (n int, err error) {
	var info string
	if err := db.DoInto(ctx, &info, "INFO", "clients"); err != nil {
		return 0, err
	}
	_, err = fmt.Sscanf(after(info, "connected_clients:"), "%d", &n)
	return n, err
}
