package caching

import (
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/lab/bench/hist"
	"github.com/joomcode/redispipe/internal/lab/bench/lab"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

// version reads the version that the client returns for key.
func version(b *testing.B, c cached, key string) int {
	text, err := c.get(key)
	require.NoError(b, err)
	n, err := strconv.Atoi(text)
	require.NoError(b, err)
	return n
}

// uncached sends requests as another client, without a cache.
func uncached(b *testing.B, server *testbed.Server) redis.Sync {
	conn, err := redisconn.Connect(b.Context(), server.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
	require.NoError(b, err)
	b.Cleanup(conn.Close)
	return redis.Sync{S: conn}
}

// Each benchmark is one run of this size, no matter what b.N is.
const (
	ownWrites   = 20_000
	otherWrites = 2_000
	boundKeys   = 200_000
	// patient bounds how long a benchmark waits until an outdated value disappears.
	patient = 15 * time.Second
)

// BenchmarkOwnWrites writes a key that is in memory. After the write is acknowledged, the same
// goroutine and another one read the key.
func BenchmarkOwnWrites(b *testing.B) {
	server := testbed.NewServer(b)
	for _, c := range clients {
		b.Run(c.name, func(b *testing.B) {
			client := c.connect(b, server.Addr())
			written, read := make(chan int), make(chan int)
			go func() { // ends with written
				for range written {
					read <- version(b, client, "own")
				}
			}()
			defer close(written)
			stale := 0
			require.NoError(b, client.set("own", "0"))
			for n := range ownWrites {
				version(b, client, "own")
				version(b, client, "own")
				require.NoError(b, client.set("own", strconv.Itoa(n)))
				if n%2 == 0 {
					if version(b, client, "own") < n {
						stale++
					}
					continue
				}
				if written <- n; <-read < n {
					stale++
				}
			}
			b.ReportMetric(float64(stale), "stale")
		})
	}
}

// BenchmarkOthersWrites measures the time from the acknowledgment of another client's write until a
// goroutine that reads the key every 20 µs gets the new value.
func BenchmarkOthersWrites(b *testing.B) {
	server := testbed.NewServer(b)
	other := uncached(b, server)
	for _, c := range clients {
		b.Run(c.name, func(b *testing.B) {
			client := c.connect(b, server.Addr())
			require.NoError(b, redis.Err(other.Do("SET", "others", 0)))
			var took hist.Hist
			sleep := lab.PreciseSleeper()
			for n := range otherWrites {
				version(b, client, "others")
				require.NoError(b, redis.Err(other.Do("SET", "others", n)))
				acked := time.Now()
				for version(b, client, "others") < n {
					sleep(20 * time.Microsecond)
				}
				took.Record(time.Since(acked))
			}
			b.ReportMetric(float64(took.Quantile(0.5))/1e6, "p50-ms")
			b.ReportMetric(float64(took.Quantile(0.999))/1e6, "p99.9-ms")
		})
	}
}

// BenchmarkBound reads more values than the bound allows, and reports the size of the heap.
func BenchmarkBound(b *testing.B) {
	server := testbed.NewServer(b)
	other := uncached(b, server)
	value := strings.Repeat("x", 100)
	for at := 0; at < boundKeys; at += 1000 {
		var args []any
		for i := range 1000 {
			args = append(args, "bound:"+strconv.Itoa(at+i), value)
		}
		require.NoError(b, redis.Err(other.Do("MSET", args...)))
	}
	heap := func() float64 {
		var m runtime.MemStats
		for range 3 {
			runtime.GC()
		}
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc)
	}
	for _, c := range clients {
		b.Run(c.name, func(b *testing.B) {
			client := c.connect(b, server.Addr())
			before := heap()
			for i := range boundKeys {
				_, err := client.get("bound:" + strconv.Itoa(i))
				require.NoError(b, err)
			}
			b.ReportMetric((heap()-before)/(1<<20), "MiB")
			_, err := client.get("bound:0")
			require.NoError(b, err)
		})
	}
}
