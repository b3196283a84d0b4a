package redisconn_test

import (
	"context"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/testbed"
)

// far is a socket whose answers come late.
type far struct {
	net.Conn
	delay time.Duration
}

// Read implements net.Conn.
func (f far) Read(p []byte) (int, error) {
	n, err := f.Conn.Read(p)
	time.Sleep(f.delay)
	return n, err
}

// BenchmarkBlockingCancelled measures how long a blocking command takes to return after the end of
// its context: with an idle server, a busy server and a distant one.
func BenchmarkBlockingCancelled(b *testing.B) {
	for _, c := range []struct {
		name  string
		load  int
		delay time.Duration
	}{{"idle", 0, 0}, {"load=64", 64, 0}, {"delay=10ms", 0, 10 * time.Millisecond}} {
		b.Run(c.name, func(b *testing.B) {
			s := testbed.NewServer(b)
			admin := redis.Sync{S: connect(b, s.Addr(), quiet)}
			opts := quiet
			if c.delay > 0 {
				opts.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
					conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
					return far{conn, c.delay}, err
				}
			}
			conn := connect(b, s.Addr(), opts)
			var stop atomic.Bool
			var wg sync.WaitGroup
			for range c.load {
				wg.Go(func() {
					for !stop.Load() {
						redis.Sync{S: conn}.Do("SET", "key", "value")
					}
				})
			}
			var took []time.Duration
			closed := 0
			for b.Loop() {
				ctx, cancel := context.WithCancel(context.Background())
				done := doing(ctx, conn, "BLPOP", "list", 0)
				blocked(b, admin, 1)
				began := time.Now()
				cancel()
				if redis.OutcomeOf(<-done) == redis.OutcomeUnknown {
					closed++
				}
				took = append(took, time.Since(began))
			}
			stop.Store(true)
			wg.Wait()
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "µs-p50")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "µs-p99")
			b.ReportMetric(float64(took[len(took)-1].Microseconds()), "µs-max")
			b.ReportMetric(float64(closed), "closed")
		})
	}
}
