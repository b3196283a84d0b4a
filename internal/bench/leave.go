package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/joomcode/redispipe/internal/bench/hist"
	"github.com/joomcode/redispipe/internal/bench/peer"
)

// ending is how the contexts of a case end.
type ending string

const (
	cancelled ending = "cancellation"
	expired   ending = "deadline"
)

const (
	// leaveStalled is the longest that a context lasts while the server does not answer,
	// leaveLoaded while it does: some requests are answered first.
	leaveStalled = 20 * time.Millisecond
	leaveLoaded  = 500 * time.Microsecond
	// leaveLoad is how many other callers there are then.
	leaveLoad = 128
)

func leavingCases() (cases []Case) {
	for _, end := range []ending{cancelled, expired} {
		for _, stalled := range []bool{true, false} {
			for _, n := range []int{1, 8, 128, 1000} {
				c := callers(n)
				id, text := "stalled", "a server that does not answer"
				if !stalled {
					id, text = "loaded", fmt.Sprintf("%d others", leaveLoad)
				}
				c.ID = fmt.Sprintf("%s-%s-c%d", end, id, n)
				c.Text = fmt.Sprintf("%s, %s, %s", end, text, c.Text)
				c.Kind, c.Ends, c.Stalled, c.OnlyFull, c.OnlyOurs, c.Tag = leaving, end, stalled, true, true, ""
				cases = append(cases, c)
			}
		}
	}
	return cases
}

// leaver measures how long after the end of its context a caller is back.
type leaver struct {
	ends ending
	most time.Duration

	mu         sync.Mutex // guards the histograms
	late, bare hist.Hist  // see measureLeaving
}

// measureLeaving measures in rounds, in each of which every caller sends one request. Between
// them, as many goroutines wait for nothing but their contexts: so late are the runtime's timers
// and its scheduler.
func (b *bed) measureLeaving(c peer.Client) (values, error) {
	l := &leaver{ends: b.Case.Ends, most: leaveLoaded}
	set := func(ctx context.Context, i int) { _ = c.Set(ctx, fmt.Sprintf("bench:%d:0", i), []byte("v")) }
	wait := func(ctx context.Context, _ int) { <-ctx.Done() }
	end := time.Now().Add(b.Duration)
	if b.Case.Stalled {
		l.most = leaveStalled
	} else {
		load := b.loop(c, leaveLoad)
		var loading sync.WaitGroup
		defer loading.Wait()
		loading.Go(func() { load.run(b.Duration) })
	}
	for first := true; first || time.Now().Before(end); first = false {
		l.round(&l.bare, b.Case.Callers, wait)
		if !b.Case.Stalled {
			l.round(&l.late, b.Case.Callers, set)
			continue
		}
		if _, err := b.control.Do(fmt.Sprintf("CLIENT PAUSE %d WRITE", pauseMillis)); err != nil {
			return nil, err
		}
		l.round(&l.late, b.Case.Callers, set)
		if _, err := b.control.Do("CLIENT UNPAUSE"); err != nil {
			return nil, err
		}
		if err := c.Set(context.Background(), "bench:0:0", []byte("v")); err != nil {
			return nil, err
		}
	}
	v := values{}
	v.latencies(&l.bare)
	v = values{bareP999: v[p999]}
	v.latencies(&l.late)
	return v, nil
}

// round has so many callers call once each.
func (l *leaver) round(took *hist.Hist, callers int, call func(ctx context.Context, i int)) {
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() { l.leave(took, func(ctx context.Context) { call(ctx, i) }) })
	}
	wg.Wait()
}

// leave calls with a context that ends soon, and notes how long after that the call has
// returned, unless it was earlier.
func (l *leaver) leave(took *hist.Hist, call func(context.Context)) {
	lasts := rand.N(l.most)
	at := time.Now().Add(lasts)
	ctx, cancel := context.WithDeadline(context.Background(), at)
	if l.ends == cancelled {
		cancel() // of the one with the deadline
		ctx, cancel = context.WithCancel(context.Background())
		defer time.AfterFunc(lasts, func() {
			at = time.Now() // read after the context has ended
			cancel()
		}).Stop()
	}
	defer cancel()
	call(ctx)
	now := time.Now()
	if ctx.Err() == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	took.Record(now.Sub(at))
}
