package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/joomcode/redispipe/redis"
)

const (
	jobs = "quickstart:jobs"
	// jobWorkers workers each take a job every jobPause, while jobNeighbours goroutines send SET
	// and GET.
	jobWorkers    = 4
	jobPause      = time.Millisecond
	jobNeighbours = 100
)

// work takes jobs off a list until its context ends. While BLPOP waits, it has its own connection,
// so it delays no other request.
func work(ctx context.Context, db redis.SyncCtx, do func(job string)) error {
	for {
		var popped []string // the list, and the popped element
		err := db.DoInto(ctx, &popped, "BLPOP", jobs, 0)
		switch {
		case err == nil:
			do(popped[1])
		case ctx.Err() != nil: // if a job was popped as ctx ended, the case above has handled it
			return nil
		default:
			return err
		}
	}
}

// showQueue makes workers wait for jobs on the connection that many others use, and prints how long
// a job takes from push to pop.
func showQueue(ctx context.Context, addr, password string, duration time.Duration) error {
	conn, err := connect(ctx, addr, password)
	if err != nil {
		return err
	}
	defer conn.Close()
	q := &queue{db: redis.SyncCtx{S: conn}}
	beside := &load{db: q.db}
	defer deleteKeys(q.db, jobNeighbours)
	beside.start(ctx, jobNeighbours)
	err = q.run(ctx, duration)
	beside.stop()
	if err = errors.Join(err, beside.err()); err != nil {
		return err
	}
	const row = "  %28s  %10s  %8s  %8s\n"
	fmt.Printf(row, "", "requests", "p50", "p99")
	printRow := func(who string, took *latencies) {
		h := took.snapshot()
		fmt.Printf(row, who, thousands(int64(h.Count())), round(h.Quantile(0.5)), round(h.Quantile(0.99)))
	}
	printRow(fmt.Sprintf("%d workers in BLPOP", jobWorkers), &q.taken)
	printRow(fmt.Sprintf("%d goroutines, SET and GET", jobNeighbours), &beside.latency)
	fmt.Println("  The time of a job runs from its RPUSH until a worker has it.")
	return nil
}

// queue is a list of jobs. Each job is the time when it was pushed.
type queue struct {
	db     redis.SyncCtx
	pushed int64
	taken  latencies // since the push
}

// run pushes jobs for the given duration, at least one, and returns when workers have taken all of
// them.
func (q *queue) run(ctx context.Context, duration time.Duration) error {
	ctx, stop := context.WithCancelCause(ctx)
	var workers sync.WaitGroup
	for range jobWorkers {
		workers.Go(func() {
			if err := work(ctx, q.db, q.do); err != nil {
				stop(err)
			}
		})
	}
	err := q.push(ctx, duration)
	for err == nil && q.taken.total() < q.pushed && ctx.Err() == nil {
		pause(ctx, jobPause)
	}
	err = errors.Join(err, context.Cause(ctx))
	stop(nil)
	workers.Wait()
	return err
}

func (q *queue) push(ctx context.Context, duration time.Duration) error {
	for end := time.Now().Add(duration); ctx.Err() == nil && (q.pushed == 0 || time.Now().Before(end)); pause(ctx, jobPause) {
		if err := redis.AsError(q.db.Do(ctx, "RPUSH", jobs, time.Now().UnixNano())); err != nil {
			return err
		}
		q.pushed++
	}
	return nil
}

func (q *queue) do(job string) {
	pushed, _ := strconv.ParseInt(job, 10, 64)
	q.taken.add(time.Since(time.Unix(0, pushed)))
}
