package redispubsub_test

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redispubsub"
	"github.com/joomcode/redispipe/testbed"
)

// reportQuantiles reports the median and the 99th percentile.
func reportQuantiles(b *testing.B, times []time.Duration) {
	b.Helper()
	slices.Sort(times)
	at := func(q float64) float64 { return float64(times[int(q*float64(len(times)-1))]) / 1e3 }
	b.ReportMetric(at(0.5), "p50-µs")
	b.ReportMetric(at(0.99), "p99-µs")
}

// BenchmarkRestored measures the time from when a node takes over a slot until a sharded channel of the
// slot is subscribed there.
func BenchmarkRestored(b *testing.B) {
	testbed.Needs(b, testbed.Version(7, 0))
	bed := testbed.NewCluster(b, testbed.ClusterOptions{Replicas: -1})
	s := newClusterSubscriber(b, connectCluster(b, bed.Addrs(), 2))
	sub := s.NewSubscription(redispubsub.SubscriptionOpts{Status: true})
	require.NoError(b, sub.Subscribe(withPatience(b), redispubsub.Sharded("room")))
	slot, err := bed.Slot("room")
	require.NoError(b, err)
	from, err := bed.Owner(slot)
	require.NoError(b, err)
	setSlot := func(on *testbed.Node, args ...any) {
		require.NoError(b, redis.AsError(on.Do("CLUSTER SETSLOT", append([]any{slot}, args...)...)))
	}
	var times []time.Duration
	for i := range b.N {
		masters := slices.DeleteFunc(bed.Nodes(), func(n *testbed.Node) bool { return n == from })
		to := masters[i%len(masters)]
		setSlot(to, "IMPORTING", from.ID())
		setSlot(from, "MIGRATING", to.ID())
		began := time.Now()
		setSlot(to, "NODE", to.ID())
		setSlot(from, "NODE", to.ID())
		for {
			if ev, ok := take(b, sub, 1)[0].(redispubsub.Subscribed); ok && ev.Time.After(began) {
				times = append(times, ev.Time.Sub(began))
				break
			}
		}
		require.NoError(b, bed.WaitAgreed())
		from = to
	}
	reportQuantiles(b, times)
}

// BenchmarkStalled measures the time from PUBLISH until each consumer gets the message, for 1,000
// subscriptions of which some stall. It does not count the stalled ones.
func BenchmarkStalled(b *testing.B) {
	server := testbed.NewServer(b)
	for _, stalled := range []int{0, 10} {
		b.Run(fmt.Sprint(stalled), func(b *testing.B) {
			conn := connect(b, server.Addr(), redisconn.Opts{})
			s := newSubscriber(b, conn)
			policies := []redispubsub.Policy{redispubsub.DropOldest, redispubsub.DropNewest, redispubsub.EndWithError, redispubsub.Block}
			const all = 1000
			times := make([][]time.Duration, all)
			var began atomic.Int64
			epoch := time.Now()
			var consuming sync.WaitGroup
			came := make(chan struct{}, all)
			for i := range all {
				opts := redispubsub.SubscriptionOpts{}
				if i < stalled {
					opts = redispubsub.SubscriptionOpts{MaxMessages: 8, Policy: policies[i%len(policies)]}
				}
				sub := s.NewSubscription(opts)
				require.NoError(b, sub.Subscribe(withPatience(b), redispubsub.Channel("a")))
				if i < stalled {
					continue
				}
				consuming.Go(func() {
					for range sub.Events(b.Context()) {
						times[i] = append(times[i], time.Since(epoch)-time.Duration(began.Load()))
						came <- struct{}{}
						if len(times[i]) == b.N {
							return
						}
					}
				})
			}
			b.ResetTimer()
			for range b.N {
				began.Store(int64(time.Since(epoch)))
				publish(b, conn, "PUBLISH", "a", "0123456789abcdef")
				for range all - stalled {
					<-came
				}
			}
			consuming.Wait()
			reportQuantiles(b, slices.Concat(times...))
		})
	}
}
