package rediscluster

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// lateness delays one in every "of" replies with a value, by the time "by". All replies behind it on the same
// socket are then late as well.
type lateness struct {
	of      int
	by      time.Duration
	on      atomic.Bool
	replies atomic.Int64
}

// dial is for Opts.HostOpts.Dialer. Two goroutines copy until either side closes.
func (l *lateness) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	server, err := (&net.Dialer{}).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	between, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer between.Close()
	client, err := (&net.Dialer{}).DialContext(ctx, "tcp", between.Addr().String())
	if err != nil {
		return nil, err
	}
	inner, err := between.Accept()
	if err != nil {
		return nil, err
	}
	go func() {
		_, _ = io.Copy(server, inner)
		_ = server.Close()
	}()
	go func() {
		defer inner.Close()
		buf := make([]byte, 64<<10)
		for {
			n, err := server.Read(buf)
			if err != nil {
				return
			}
			values := bytes.Count(buf[:n], []byte("value of"))
			l.replies.Add(int64(values))
			for range values {
				if l.on.Load() && rand.IntN(l.of) == 0 {
					time.Sleep(l.by)
				}
			}
			if _, err := inner.Write(buf[:n]); err != nil {
				return
			}
		}
	}()
	return client, nil
}

// BenchmarkLateReplies reads at a steady rate while one reply in a hundred is late. %load is how many more
// requests the servers answer than callers send, in percent. Run it with -benchtime=20000x.
func BenchmarkLateReplies(b *testing.B) {
	tb := sharedCluster(b)
	for _, rate := range []int{350, 1000} {
		for _, hedge := range []bool{false, true} {
			b.Run(fmt.Sprintf("rate=%d/hedge=%t", rate, hedge), func(b *testing.B) {
				late := lateness{of: 100, by: 50 * time.Millisecond}
				opts := calm
				opts.Hedge, opts.RoundRobinSeed, opts.HostOpts.Dialer = hedge, &FairRoundRobinSeed{}, late.dial
				opts.Logger = NoopLogger{}
				c, err := NewCluster(context.Background(), tb.Addrs(), opts)
				require.NoError(b, err)
				defer c.Close()
				ids := newIdentities(b, c, 100)
				took := make([]time.Duration, b.N)
				play := func(n int) {
					var all sync.WaitGroup
					began := time.Now()
					for i := range n {
						due := began.Add(time.Duration(i) * time.Second / time.Duration(rate))
						if wait := time.Until(due); wait > 0 {
							time.Sleep(wait)
						}
						all.Go(func() {
							ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
							defer cancel()
							began := time.Now()
							assert.NoError(b, ids.read(ctx, 5*i+4))
							took[i] = time.Since(began)
						})
					}
					all.Wait()
				}
				play(min(b.N, 2*rate)) // fills the budget, and teaches the client the usual round trips
				late.on.Store(true)
				late.replies.Store(0)
				b.ResetTimer()
				play(b.N)
				b.StopTimer()
				slices.Sort(took)
				for _, q := range []float64{50, 99, 99.9} {
					b.ReportMetric(float64(took[int(q/100*float64(b.N-1))].Microseconds())/1000, fmt.Sprintf("ms-p%v", q))
				}
				b.ReportMetric(100*float64(late.replies.Load()-int64(b.N))/float64(b.N), "%load")
			})
		}
	}
}
