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

// downFor is how long what was killed stays away.
const downFor = time.Second

func killServer(ctx context.Context, t *trial) error {
	server := t.stage.servers[0]
	return t.underFaults(ctx, server.Kill, server.Restart)
}

func killProxy(ctx context.Context, t *trial) error {
	return t.underFaults(ctx, func() error { t.stage.stop(); return nil }, t.stage.start)
}

// counter is a key that one goroutine increments. It knows what the outcomes of its requests allow.
type counter struct {
	key           string
	ran, may, not int64 // how many increments ran, may have run, and are said not to have
	wrong         string
}

// add increments the counter, and compares the result with what is possible.
func (n *counter) add(ctx context.Context, c client) error {
	got, err := c.do(ctx, "INCR", n.key)
	switch c.outcome(err) {
	case value:
		n.ran++
		if v, ok := got.(int64); !ok || v < n.ran || v > n.ran+n.may {
			n.wrong = fmt.Sprintf("INCR returned %v after %d that ran and %d that may have", got, n.ran-1, n.may)
		} else { // what may have run has, or has not
			n.ran, n.may = v, 0
		}
	case unknown:
		n.may++
	default:
		n.not++
	}
	return err
}

// judge compares the counter with its value in the end, for which it asks until it is told.
func (n *counter) judge(ctx context.Context, c client) {
	var got any
	err := errors.New("not asked")
	for end := time.Now().Add(5 * time.Second); err != nil && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		got, err = c.do(ctx, "GET", n.key) // what was killed may have come back just now
	}
	text, _ := got.(string)
	if v, _ := strconv.ParseInt(text, 10, 64); err != nil || v < n.ran || v > n.ran+n.may {
		n.wrong = fmt.Sprintf("the counter is %v after %d increments that ran and %d that may have (%v)", got, n.ran, n.may, err)
	}
}

// underFaults counts with 16 goroutines while something is killed every ten seconds. The outcome of each request must
// be true, and no reply may be another's.
func (t *trial) underFaults(ctx context.Context, kill, restart func() error) error {
	counters := make([]*counter, 16)
	var sent, maybe, back atomic.Int64
	load, end := context.WithTimeout(ctx, t.faults)
	defer end()
	var all sync.WaitGroup
	for i := range counters {
		n := &counter{key: t.key(time.Now().UnixNano(), i)}
		counters[i] = n
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
				time.Sleep(2 * time.Millisecond)
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

// killing kills and restarts until ctx is done. What was killed is there when it returns.
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
