package main

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/joomcode/redispipe/internal/lab/bench/lab"
	"github.com/joomcode/redispipe/internal/lab/bench/peer"
)

const (
	// openWorkers is the number of goroutines that make the requests. If they are too few for a
	// rate and a latency, requests wait for a worker, and the latency includes that wait.
	openWorkers = 2048
	// openTick is the shortest pause of the goroutine that releases requests. After a pause, it
	// releases all requests that have become due. Shorter pauses would take a core from the client.
	openTick = 50 * time.Microsecond
	// openGrace is the divisor of the duration that gives the time for a client to catch up. Then
	// the rest of its queue is dropped.
	openGrace = 4
)

// measureOpen releases requests at a fixed rate, whatever happens to earlier ones. The latency
// counts from the time when a request was due, so a client that stalls also pays for the requests
// that become due during the stall. The workers are started in advance, so that latencies do not
// include starting them.
func (b *bed) measureOpen(c peer.Client) (values, error) {
	warm := b.loop(c, 64)
	warm.run(b.Duration / warmUp)
	perRequest := float64(time.Second) / float64(b.Case.Rate)
	queue := make(chan time.Time, int(float64(b.Duration)/perRequest))
	l := b.loop(c, openWorkers)
	var wg sync.WaitGroup
	var late atomic.Bool
	for _, w := range l.callers {
		wg.Go(func() { l.serve(w, queue, &late) })
	}
	m := b.meter()
	if err := m.start(); err != nil {
		return nil, err
	}
	begin := time.Now()
	release(queue, begin, perRequest)
	grace := time.AfterFunc(b.Duration/openGrace, func() { late.Store(true) })
	defer grace.Stop()
	wg.Wait()
	done := l.sum()
	done.elapsed = time.Since(begin)
	if err := done.failed(); err != nil {
		return nil, err
	}
	v, err := m.stop(done.ops)
	if err != nil {
		return nil, err
	}
	v.latencies(done.hist)
	delete(v, nsPerOp) // it would only repeat the rate
	v[achieved] = 100 * done.ops / done.elapsed.Seconds() / float64(b.Case.Rate)
	v[failures] = done.errors
	return v, nil
}

// release puts each request into the queue when the request is due, and then closes the queue.
// perRequest is in nanoseconds.
func release(queue chan<- time.Time, begin time.Time, perRequest float64) {
	wait := lab.PreciseSleeper()
	due := func(i int) time.Time { return begin.Add(time.Duration(float64(i) * perRequest)) }
	for sent, total := 0, cap(queue); sent < total; {
		for now := time.Now(); sent < total && !due(sent).After(now); sent++ {
			queue <- due(sent)
		}
		wait(max(time.Until(due(sent)), openTick))
	}
	close(queue)
}

// serve takes requests from the queue until the queue is closed and empty, or late is set.
func (l *loop) serve(w *caller, queue <-chan time.Time, late *atomic.Bool) {
	ctx := context.Background()
	set := true
	for due := range queue {
		if late.Load() {
			return
		}
		if err := l.one(ctx, w, set); err != nil {
			w.failed(err, 1)
			continue
		}
		w.hist.Record(time.Since(due))
		w.ops++
		set = !set
	}
}
