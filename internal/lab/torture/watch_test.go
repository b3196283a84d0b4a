package torture

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/lab/drill"
	"github.com/joomcode/redispipe/internal/lab/oracle"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/testbed"
)

// adders is the number of goroutines that increment one key.
const adders = 64

// increments starts goroutines that increment the counter with optimistic transactions until ctx
// ends, and reports errors of servers.
func (w *Witnesses) increments(ctx context.Context, t *testing.T, sender redis.Sender) {
	var wg sync.WaitGroup
	for range adders {
		wg.Go(func() {
			for ctx.Err() == nil {
				_, id := w.Counter.Issue()
				res := increment(context.WithoutCancel(ctx), sender, w.counter)
				if outcome, _ := oracle.Classify(res); outcome == oracle.ServerError {
					t.Log(res)
				}
				w.Ledger.Resolve(res, id)
			}
		})
	}
	wg.Wait()
}

// increment returns the value to which it has set a key, or an error.
func increment(ctx context.Context, sender redis.Sender, key string) any {
	ctx, cancel := context.WithTimeout(ctx, patience/3)
	defer cancel()
	var n int64
	_, err := redis.Watch(ctx, sender, []string{key}, func(tx *redis.Tx) error {
		n = 0
		err := tx.DoInto(&n, "GET", key)
		if failure := redis.AsErrorx(err); failure != nil && !failure.IsOfType(redis.ErrResponseNil) {
			return err
		}
		n++
		tx.Queue("SET", key, n)
		return nil
	})
	if err != nil {
		return err
	}
	return n
}

// answersOf returns a function that counts the answered requests.
func answersOf(l *oracle.Ledger) func() int64 {
	return func() int64 { return l.Report.Outcomes(oracle.Value) }
}

// always is a condition that always holds.
func always() bool { return true }

// T25: callers read a counter and write the next number, while connections and the server are lost.
// The value is at least the number of acknowledged increments, and at most the number of
// acknowledged and unknown ones.
func TestT25IncrementsUnderFaults(t *testing.T) {
	beside(t)
	for name, fault := range singleFaults {
		t.Run(name, func(t *testing.T) {
			drill.Rotate(t)
			beside(t)
			r := newRig(t, RigOpts{Conn: untimed(), ServerOpts: testbed.Options{Persist: true}})
			playFaults(t, fault.pause, func(ctx context.Context) error { return fault.make(ctx, r) },
				func(ctx context.Context) { r.increments(ctx, t, r.Conn) }, answersOf(r.Ledger), always)
			_, err := r.WaitConnected(patience)
			require.NoError(t, err)
			report, _ := judge(t, r)
			require.Positive(t, report.Outcomes(oracle.Value))
		})
	}
}

// T25 on a cluster: the counter's slot moves.
func TestT25IncrementsInCluster(t *testing.T) {
	drill.Rotate(t)
	beside(t)
	nodes := testbed.NewCluster(t, testbed.ClusterOptions{Replicas: -1, NodeTimeout: longNodeTimeout})
	r := newClusterRig(t, nodes, 3*patience)
	const pause = 60 * time.Millisecond
	playFaults(t, pause, func(context.Context) error { return moveSlowly(r, r.counter) },
		func(ctx context.Context) { r.increments(ctx, t, r.Client) }, answersOf(r.Ledger), always)
	report := judgeCluster(t, r)
	require.Positive(t, report.Outcomes(oracle.Value))
	require.Zero(t, report.Outcomes(oracle.ServerError))
}
