package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/joomcode/redispipe/internal/lab/bench/hist"
	"github.com/joomcode/redispipe/internal/lab/bench/peer"
)

// ending is the way in which the contexts of a case end.
type ending string

const (
	cancelled ending = "cancellation"
	expired   ending = "deadline"
)

const (
	// leaveStalled is the longest life of a context while the server does not answer. leaveLoaded
	// is the longest life while it answers, so some requests are answered first.
	leaveStalled = 20 * time.Millisecond
	leaveLoaded  = 500 * time.Microsecond
	// leastBuffer bounds the buffer of a leastClient.
	leastBuffer = 32 << 10
	// leaveLoad is the number of other callers in the case with load.
	leaveLoad = 128
)

func leavingCases() (cases []Case) {
	for _, end := range []ending{cancelled, expired} {
		for _, server := range []struct {
			id, text       string
			stalled, later bool
		}{
			{"stalled", "a server that does not answer", true, false},
			{"waiting", "a server that does not answer, once all wait", true, true},
			{"loaded", fmt.Sprintf("%d others", leaveLoad), false, false},
		} {
			for _, n := range []int{1, 8, 128, 1000} {
				c := callers(n)
				c.ID = fmt.Sprintf("%s-%s-c%d", end, server.id, n)
				c.Text = fmt.Sprintf("%s, %s, %s", end, server.text, c.Text)
				c.Kind, c.Ends, c.Stalled, c.Later = leaving, end, server.stalled, server.later
				c.OnlyFull, c.OnlyOurs, c.Tag = true, true, ""
				cases = append(cases, c)
			}
		}
	}
	return cases
}

// leaver measures how long after the end of its context a caller returns.
type leaver struct {
	ends        ending
	least, most time.Duration // the life of a context

	mu                sync.Mutex // guards the histograms
	late, bare, plain hist.Hist  // see measureLeaving
}

// measureLeaving measures in rounds. In each round every caller sends one request. Between the
// rounds, the same number of goroutines wait only for their contexts, which shows how late the
// runtime's timers and scheduler are. Then the same number of goroutines call leastClient, which
// does the least that any client must do.
func (b *bed) measureLeaving(c peer.Client) (values, error) {
	l := &leaver{ends: b.Case.Ends, most: leaveLoaded}
	var least leastClient
	set := func(ctx context.Context, i int) { _ = c.Set(ctx, fmt.Sprintf("bench:%d:0", i), []byte("v")) }
	wait := func(ctx context.Context, _ int) { <-ctx.Done() }
	end := time.Now().Add(b.Duration)
	if b.Case.Stalled {
		l.most = leaveStalled
		if b.Case.Later {
			l.least, l.most = leaveStalled, 2*leaveStalled
		}
	} else {
		load := b.loop(c, leaveLoad)
		var loading sync.WaitGroup
		defer loading.Wait()
		loading.Go(func() { load.run(b.Duration) })
	}
	for first := true; first || time.Now().Before(end); first = false {
		l.round(&l.bare, b.Case.Callers, wait)
		l.round(&l.plain, b.Case.Callers, least.call)
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
	v.latencies(&l.plain)
	v[leastP999] = v[p999]
	v.latencies(&l.late)
	return v, nil
}

// leastClient does the least that a client with a shared connection must do. It appends the request
// to a buffer, which is never sent, waits, and returns an error that names the request.
type leastClient struct {
	mu  sync.Mutex // guards buf
	buf []byte
}

func (l *leastClient) call(ctx context.Context, i int) {
	key := fmt.Sprintf("bench:%d:0", i)
	answered := make(chan struct{})
	l.mu.Lock()
	l.buf = append(l.buf[:len(l.buf)%leastBuffer], key...)
	l.mu.Unlock()
	select {
	case <-answered:
	case <-ctx.Done():
		_ = fmt.Errorf("SET %s: %w", key, ctx.Err())
	}
}

// round starts callers, each of which calls once.
func (l *leaver) round(took *hist.Hist, callers int, call func(ctx context.Context, i int)) {
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() { l.leave(took, func(ctx context.Context) { call(ctx, i) }) })
	}
	wg.Wait()
}

// leave makes a call with a context that ends soon. If the call returns after the end of the
// context, leave records how long after.
func (l *leaver) leave(took *hist.Hist, call func(context.Context)) {
	lasts := l.least + rand.N(l.most-l.least)
	at := time.Now().Add(lasts)
	ctx, cancel := context.WithDeadline(context.Background(), at)
	if l.ends == cancelled {
		cancel() // cancels the context with the deadline
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
