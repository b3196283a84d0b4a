package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// downFor is how long a killed process stays down.
const downFor = time.Second

func killServer(ctx context.Context, t *trial) error {
	server := t.stage.servers[0]
	return t.underFaults(ctx, server.Kill, server.Restart)
}

func killProxy(ctx context.Context, t *trial) error {
	return t.underFaults(ctx, func() error { t.stage.stop(); return nil }, t.stage.start)
}

// counter is a key that one goroutine increments. Each counter begins with a different value, so
// that a reply for one counter does not fit another. A counter knows which values are possible
// after the outcomes of its requests.
type counter struct {
	key           string
	ran, may, not int64 // the value; how many increments may have run; how many did not run, according to the client
	wrong         string
}

// add increments the counter, and checks that the result is possible.
func (n *counter) add(ctx context.Context, c client) error {
	got, err := c.do(ctx, "INCR", n.key)
	switch c.outcome(err) {
	case value:
		n.ran++
		if v, ok := got.(int64); !ok || v < n.ran || v > n.ran+n.may {
			n.wrong = fmt.Sprintf("INCR returned %v after %d that ran and %d that may have", got, n.ran-1, n.may)
		} else { // the value shows which of the doubtful increments have run
			n.ran, n.may = v, 0
		}
	case unknown:
		n.may++
	default:
		n.not++
	}
	return err
}

// judge checks that the final value is possible. It asks for the value until it gets an answer.
func (n *counter) judge(ctx context.Context, c client) {
	var got any
	err := errors.New("not asked")
	for end := time.Now().Add(5 * time.Second); err != nil && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		got, err = c.do(ctx, "GET", n.key) // the killed process may have restarted just now
	}
	text, _ := got.(string)
	if v, _ := strconv.ParseInt(text, 10, 64); err != nil || v < n.ran || v > n.ran+n.may {
		n.wrong = fmt.Sprintf("the counter is %v after %d increments that ran and %d that may have (%v)", got, n.ran, n.may, err)
	}
}

// underFaults increments counters in 16 goroutines while kill is called every ten seconds. The reported
// outcome of each request must be true, and no request may get the reply to another one.
func (t *trial) underFaults(ctx context.Context, kill, restart func() error) error {
	counters := make([]*counter, 16)
	for i := range counters {
		n := &counter{key: t.key(time.Now().UnixNano(), i), ran: int64(i+1) * 1e12}
		counters[i] = n
		if err := t.expect(ctx, "OK", "SET", n.key, n.ran); err != nil {
			return err
		}
	}
	var sent, maybe, back atomic.Int64
	load, end := context.WithTimeout(ctx, t.faults)
	defer end()
	var all sync.WaitGroup
	for _, n := range counters {
		all.Go(func() {
			failing := time.Time{}
			for load.Err() == nil {
				sent.Add(1)
				began := time.Now()
				err := n.add(ctx, t.client)
				switch {
				case err == nil && !failing.IsZero():
					took := time.Since(failing)
					for old := back.Load(); int64(took) > old && !back.CompareAndSwap(old, int64(took)); old = back.Load() {
					}
					failing = time.Time{}
				case err != nil && failing.IsZero():
					failing = began
				}
				if t.client.outcome(err) == unknown {
					maybe.Add(1)
				}
				time.Sleep(5 * time.Millisecond)
			}
		})
	}
	err := killing(load, kill, restart)
	all.Wait()
	for _, n := range counters {
		n.judge(ctx, t.client)
		if n.wrong != "" {
			err = errors.Join(err, errors.New(n.wrong))
		}
	}
	t.note = fmt.Sprintf("%d of %d unknown", maybe.Load(), sent.Load())
	if late := time.Duration(back.Load()) - downFor; late > 0 {
		t.note += fmt.Sprintf(", back in %.1f s", late.Seconds())
	}
	return err
}

// killing calls kill and restart in turn until ctx is done. When it returns, the killed process
// runs again.
func killing(ctx context.Context, kill, restart func() error) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(9 * time.Second):
		}
		err := kill()
		time.Sleep(downFor)
		if err = errors.Join(err, restart()); err != nil {
			return err
		}
	}
}
