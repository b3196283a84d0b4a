package pubsub

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/lab/bench/hist"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

const (
	channel = "channel"
	payload = "0123456789abcdef"
)

// BenchmarkThroughput receives messages of 16 bytes as fast as it can.
func BenchmarkThroughput(b *testing.B) {
	server := testbed.NewServer(b)
	for _, c := range clients {
		b.Run(c.name, func(b *testing.B) {
			f := newFlood(b, server.Addr())
			n := 0
			done := c.subscribe(b, f.addr(), channel, func(size int) bool {
				if n++; size != len(payload) {
					b.Errorf("a message of %d bytes", size)
				}
				return n < b.N
			})
			b.ReportAllocs()
			b.ResetTimer()
			require.NoError(b, f.send(b.N, channel, payload))
			<-done
			b.StopTimer()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "messages/s")
		})
	}
}

// publishEvery is the pause between two messages of BenchmarkLatency.
const publishEvery = 200 * time.Microsecond

// BenchmarkLatency measures the time from before a PUBLISH until the consumer has the message, on
// an otherwise idle server.
func BenchmarkLatency(b *testing.B) {
	server := testbed.NewServer(b)
	conn, err := redisconn.Connect(b.Context(), server.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
	require.NoError(b, err)
	b.Cleanup(conn.Close)
	db := redis.Sync{S: conn}
	for _, c := range clients {
		b.Run(c.name, func(b *testing.B) {
			var began atomic.Int64
			var took hist.Hist
			n, came := 0, make(chan struct{}, 1)
			epoch := time.Now()
			done := c.subscribe(b, server.Addr(), channel, func(int) bool {
				took.Record(time.Since(epoch) - time.Duration(began.Load()))
				n++
				came <- struct{}{}
				return n < b.N
			})
			b.ResetTimer()
			for range b.N {
				time.Sleep(publishEvery)
				began.Store(int64(time.Since(epoch)))
				require.NoError(b, redis.AsError(db.Do("PUBLISH", channel, payload)))
				<-came
			}
			<-done
			b.ReportMetric(float64(took.Quantile(0.5))/1e3, "p50-µs")
			b.ReportMetric(float64(took.Quantile(0.99))/1e3, "p99-µs")
		})
	}
}
