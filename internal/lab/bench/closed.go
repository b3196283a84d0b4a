package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/joomcode/redispipe/internal/lab/bench/hist"
	"github.com/joomcode/redispipe/internal/lab/bench/peer"
)

// With more than sampleAbove callers, only one request in sampleEvery is timed, because reading the
// clock twice would take a tenth of the fastest requests' time, and hide differences between
// clients.
const (
	sampleAbove = 8
	sampleEvery = 8
)

// warmUp is the divisor of the measured time that gives the time of the warm-up.
const warmUp = 4

// outcome is the result of a loop.
type outcome struct {
	ops    float64
	errors float64
	first  error
	hist   *hist.Hist
	// elapsed is set only by the open loop.
	elapsed time.Duration
}

// failed returns an error if too many requests failed for the measurement to count.
func (o outcome) failed() error {
	if o.ops == 0 || o.errors > 0.01*o.ops {
		return fmt.Errorf("%v of %v requests failed, the first with: %w", o.errors, o.ops+o.errors, o.first)
	}
	return nil
}

func (b *bed) measureClosed(c peer.Client) (values, error) {
	l := b.loop(c, b.Case.callersOf(b.driver))
	if b.Case.Random {
		if err := l.share(); err != nil {
			return nil, err
		}
	}
	l.run(b.Duration / warmUp)
	m := b.meter()
	if err := m.start(); err != nil {
		return nil, err
	}
	done := l.run(b.Duration)
	if err := done.failed(); err != nil {
		return nil, err
	}
	v, err := m.stop(done.ops)
	if err != nil {
		return nil, err
	}
	v.latencies(done.hist)
	v[failures] = done.errors
	return v, nil
}

// measurePhases measures the closed loop with one caller, then with many, and then with one again.
func (b *bed) measurePhases(c peer.Client) (values, error) {
	one, many := b.loop(c, 1), b.loop(c, b.Case.Callers)
	one.run(b.Duration / warmUp)
	v := values{}
	for _, phase := range []struct {
		l *loop
		m metric
	}{{one, firstPhase}, {many, middlePhase}, {one, lastPhase}} {
		begin := time.Now()
		done := phase.l.run(b.Duration)
		if err := done.failed(); err != nil {
			return nil, err
		}
		v[phase.m] = float64(time.Since(begin)) / done.ops
		v[failures] += done.errors
	}
	return v, nil
}

// step sends one request of a caller. first is true every other time.
type step func(ctx context.Context, w *caller, first bool) error

// loop runs callers. Each alternates a SET and a GET of its own keys, or does what the task says.
type loop struct {
	client  peer.Client
	step    step
	fill    peer.Filler // nil for clients without it
	batch   int
	value   []byte
	callers []*caller
	// shared are keys that all callers share. Each request uses a random one. It is empty if
	// callers have their own keys.
	shared []string
}

// caller is the state of one goroutine, which is kept from run to run.
type caller struct {
	keys   []string
	buf    []byte
	hist   hist.Hist
	ops    int
	errors int
	first  error
}

func (b *bed) loop(c peer.Client, callers int) *loop {
	l := &loop{
		client: c, batch: b.Case.Batch, value: bytes.Repeat([]byte{'v'}, b.Case.Size),
	}
	l.fill, _ = c.(peer.Filler)
	l.step = l.one
	prefix := "bench"
	if b.Case.Task != "" {
		l.step = l.taskStep(b.Case.Task, c.(peer.Service))
		prefix = "bench:" + string(b.Case.Task) // keys of other tasks hold values of other types
	}
	for i := range callers {
		w := &caller{}
		for k := range max(1, l.batch/2) {
			w.keys = append(w.keys, fmt.Sprintf("%s:%d:%d", prefix, i, k))
		}
		l.callers = append(l.callers, w)
	}
	return l
}

// sharedKeys is how many keys the callers share: enough for each master of a large cluster to have
// many of them.
const sharedKeys = 4096

// share makes the callers share keys, which all have values.
func (l *loop) share() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for i := range sharedKeys {
		key := fmt.Sprintf("bench:shared:%d", i)
		if err := l.client.Set(ctx, key, l.value); err != nil {
			return err
		}
		l.shared = append(l.shared, key)
	}
	return nil
}

// run returns when all callers have their last answers. Each sends at least one request, no matter
// how busy the machine is.
func (l *loop) run(d time.Duration) outcome {
	var stop atomic.Bool
	var wg sync.WaitGroup
	for _, w := range l.callers {
		w.hist, w.ops, w.errors, w.first = hist.Hist{}, 0, 0, nil
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), d+time.Minute)
			defer cancel()
			if l.batch > 0 {
				l.batches(ctx, w, &stop)
			} else {
				l.singles(ctx, w, &stop)
			}
		})
	}
	time.Sleep(d)
	stop.Store(true)
	wg.Wait()
	return l.sum()
}

// sum adds up the results of the callers.
func (l *loop) sum() outcome {
	total := outcome{hist: &hist.Hist{}}
	for _, w := range l.callers {
		total.ops += float64(w.ops)
		total.errors += float64(w.errors)
		total.hist.Merge(&w.hist)
		if total.first == nil {
			total.first = w.first
		}
	}
	return total
}

func (l *loop) singles(ctx context.Context, w *caller, stop *atomic.Bool) {
	every := 1
	if len(l.callers) > sampleAbove {
		every = sampleEvery
	}
	for i := 0; i == 0 || !stop.Load(); i++ {
		// i/2 counts pairs of SET and GET, so that both are timed equally often
		timed := i/2%every == 0
		var begin time.Time
		if timed {
			begin = time.Now()
		}
		if err := l.step(ctx, w, i%2 == 0); err != nil {
			w.failed(err, 1)
			continue
		}
		if timed {
			w.hist.Record(time.Since(begin))
		}
		w.ops++
	}
}

func (l *loop) one(ctx context.Context, w *caller, set bool) error {
	key := w.keys[0]
	if len(l.shared) > 0 {
		key = l.shared[rand.IntN(len(l.shared))]
	}
	if set {
		return l.client.Set(ctx, key, l.value)
	}
	var err error
	if l.fill != nil {
		err = l.fill.GetInto(ctx, key, &w.buf)
	} else {
		w.buf, err = l.client.Get(ctx, key)
	}
	if err == nil && len(w.buf) != len(l.value) {
		err = peer.ErrWrong
	}
	return err
}

func (l *loop) batches(ctx context.Context, w *caller, stop *atomic.Bool) {
	p := l.client.(peer.Pipeliner)
	for first := true; first || !stop.Load(); first = false {
		begin := time.Now()
		right, err := p.Pipeline(ctx, w.keys, l.value)
		if wrong := 2*len(w.keys) - right; wrong > 0 || err != nil {
			w.failed(err, wrong)
		}
		w.hist.Record(time.Since(begin))
		w.ops += right
	}
}

// failed counts errors. It pauses, so that a client without a server does not spin.
func (w *caller) failed(err error, n int) {
	w.errors += n
	if w.first == nil {
		w.first = err
	}
	time.Sleep(time.Millisecond)
}
