package redisconn_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

var benchConcurrency = []int{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000}

// BenchmarkSyncSetGet alternates SET and GET of 16 bytes in many goroutines.
func BenchmarkSyncSetGet(b *testing.B) {
	s := testbed.NewServer(b)
	conn := connect(b, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
	sync := redis.Sync{S: conn}
	for _, n := range benchConcurrency {
		b.Run(fmt.Sprintf("goroutines=%d", n), func(b *testing.B) {
			benchmark(b, s, n, func(i int) error {
				if i%2 == 0 {
					return redis.AsError(sync.Do("SET", "key", "0123456789abcdef"))
				}
				return redis.AsError(sync.Do("GET", "key"))
			})
		})
	}
}

// BenchmarkSyncCtxSetGet is BenchmarkSyncSetGet with a context that can end.
func BenchmarkSyncCtxSetGet(b *testing.B) {
	s := testbed.NewServer(b)
	conn := connect(b, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	sync := redis.SyncCtx{S: conn}
	for _, n := range benchConcurrency {
		b.Run(fmt.Sprintf("goroutines=%d", n), func(b *testing.B) {
			benchmark(b, s, n, func(i int) error {
				if i%2 == 0 {
					return redis.AsError(sync.Do(ctx, "SET", "key", "0123456789abcdef"))
				}
				return redis.AsError(sync.Do(ctx, "GET", "key"))
			})
		})
	}
}

// BenchmarkSyncCtxDeadline is BenchmarkSyncSetGet with a context for each goroutine, which has a
// deadline.
func BenchmarkSyncCtxDeadline(b *testing.B) {
	s := testbed.NewServer(b)
	conn := connect(b, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
	sync := redis.SyncCtx{S: conn}
	for _, n := range benchConcurrency {
		b.Run(fmt.Sprintf("goroutines=%d", n), func(b *testing.B) {
			benchmarkEach(b, s, n, func() (do func(i int) error, end func()) {
				ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
				return func(i int) error {
					if i%2 == 0 {
						return redis.AsError(sync.Do(ctx, "SET", "key", "0123456789abcdef"))
					}
					return redis.AsError(sync.Do(ctx, "GET", "key"))
				}, cancel
			})
		})
	}
}

// BenchmarkSend sends with callbacks, in one goroutine.
func BenchmarkSend(b *testing.B) {
	conn := connect(b, testbed.NewServer(b).Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
	req, window := redis.Req("SET", "key", "0123456789abcdef"), make(chan struct{}, 10_000)
	answered := redis.FuncFuture(func(any, uint64) { <-window })
	before := conn.Stats().Writes
	b.ResetTimer()
	for range b.N {
		window <- struct{}{}
		conn.Send(req, answered, 0)
	}
	for range cap(window) {
		window <- struct{}{}
	}
	b.ReportMetric(float64(conn.Stats().Writes-before)/float64(b.N), "writes/op")
}

// BenchmarkTLS is BenchmarkSyncSetGet with TLS.
func BenchmarkTLS(b *testing.B) {
	s := testbed.NewServer(b, testbed.Options{TLS: true})
	trust, err := s.ClientTLS()
	if err != nil {
		b.Fatal(err)
	}
	conn := connect(b, s.TLSAddr(), redisconn.Opts{Logger: redisconn.NoopLogger{}, TLSEnabled: true, TLSConfig: trust})
	sync := redis.Sync{S: conn}
	for _, n := range []int{1, 8, 128} {
		b.Run(fmt.Sprintf("goroutines=%d", n), func(b *testing.B) {
			benchmark(b, s, n, func(i int) error {
				if i%2 == 0 {
					return redis.AsError(sync.Do("SET", "key", "0123456789abcdef"))
				}
				return redis.AsError(sync.Do("GET", "key"))
			})
		})
	}
}

// BenchmarkBareSocket writes to a socket and reads from it, in one goroutine. No client can be
// faster.
func BenchmarkBareSocket(b *testing.B) {
	s := testbed.NewServer(b)
	conn, err := net.Dial("tcp", s.Addr())
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	in := bufio.NewReader(conn)
	set := []byte("*3\r\n$3\r\nSET\r\n$3\r\nkey\r\n$16\r\n0123456789abcdef\r\n")
	get := []byte("*2\r\n$3\r\nGET\r\n$3\r\nkey\r\n")
	benchmark(b, s, 1, func(i int) error {
		request, reply := set, len("+OK\r\n")
		if i%2 != 0 {
			request, reply = get, len("$16\r\n0123456789abcdef\r\n")
		}
		if _, err := conn.Write(request); err != nil {
			return err
		}
		_, err := io.CopyN(io.Discard, in, int64(reply))
		return err
	})
}

// benchmark calls do b.N times, in n goroutines, and reports the processor time that the server
// took for each call.
func benchmark(b *testing.B, s *testbed.Server, n int, do func(i int) error) {
	benchmarkEach(b, s, n, func() (func(int) error, func()) { return do, func() {} })
}

// benchmarkEach is benchmark with a separate function for each goroutine.
func benchmarkEach(b *testing.B, s *testbed.Server, n int, each func() (do func(i int) error, end func())) {
	b.ReportAllocs()
	before, _ := s.CPU()
	b.ResetTimer()
	var wg sync.WaitGroup
	for g := range n {
		share := b.N / n
		if g < b.N%n {
			share++
		}
		do, end := each()
		wg.Go(func() {
			defer end()
			for i := range share {
				if err := do(g + i); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	if after, err := s.CPU(); err == nil {
		b.ReportMetric(float64((after-before).Nanoseconds())/float64(b.N), "redis-ns/op")
	}
}
