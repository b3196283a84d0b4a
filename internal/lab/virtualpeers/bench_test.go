package virtualpeers

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redisconn"

	own "github.com/joomcode/redispipe/redis"
)

// BenchmarkCallers measures the time per request, SET and GET in turn, for several numbers of
// goroutines.
func BenchmarkCallers(b *testing.B) {
	ctx := context.Background()
	commands := func(c redis.Cmdable) func(int) error {
		return func(i int) error {
			if i%2 == 0 {
				return c.Set(ctx, "bench", "0123456789012345", 0).Err()
			}
			return c.Get(ctx, "bench").Err()
		}
	}
	for _, callers := range []int{1, 8, 128, 1000} {
		for _, peer := range []struct {
			name string
			open func(b *testing.B) func(int) error
		}{
			{"pool", func(b *testing.B) func(int) error {
				c := redis.NewClient(&redis.Options{Addr: server.Addr()})
				b.Cleanup(func() { _ = c.Close() })
				return commands(c)
			}},
			{"auto", func(b *testing.B) func(int) error {
				c := redis.NewClient(&redis.Options{Addr: server.Addr()})
				b.Cleanup(func() { _ = c.Close() })
				auto, err := c.AutoPipeline()
				require.NoError(b, err)
				b.Cleanup(func() { _ = auto.Close() })
				return commands(auto)
			}},
			{"virtual", func(b *testing.B) func(int) error {
				return commands(guest(b, connect(b, server.Addr(), redisconn.Opts{})))
			}},
			{"tuned", func(b *testing.B) func(int) error {
				return commands(guest(b, connect(b, server.Addr(), redisconn.Opts{}), tuned))
			}},
			{"virtualauto", func(b *testing.B) func(int) error {
				auto, err := guest(b, connect(b, server.Addr(), redisconn.Opts{})).AutoPipeline()
				require.NoError(b, err)
				b.Cleanup(func() { _ = auto.Close() })
				return commands(auto)
			}},
			{"floor", func(b *testing.B) func(int) error {
				c := redis.NewClient(&redis.Options{PoolSize: 1000, Dialer: func(context.Context, string, string) (net.Conn, error) {
					return &instant{}, nil
				}})
				b.Cleanup(func() { _ = c.Close() })
				return commands(c)
			}},
			{"direct", func(b *testing.B) func(int) error {
				c := own.SyncCtx{S: connect(b, server.Addr(), redisconn.Opts{})}
				return func(i int) error {
					if i%2 == 0 {
						return own.AsError(c.Do(ctx, "SET", "bench", "0123456789012345"))
					}
					return own.AsError(c.Do(ctx, "GET", "bench"))
				}
			}},
		} {
			b.Run(fmt.Sprintf("%d/%s", callers, peer.name), func(b *testing.B) {
				do := peer.open(b)
				warm(b, callers, do)
				var left atomic.Int64
				left.Store(int64(b.N))
				b.ResetTimer()
				b.ReportAllocs()
				var all sync.WaitGroup
				for range callers {
					all.Go(func() {
						for {
							i := left.Add(-1)
							if i < 0 {
								return
							}
							if err := do(int(i)); err != nil {
								b.Error(err)
								return
							}
						}
					})
				}
				all.Wait()
			})
		}
	}
}

// tuned turns off go-redis's deadlines and its features of RESP3: the shared connection has its own
// time-out.
func tuned(o *redis.Options) {
	o.Protocol, o.ReadTimeout, o.WriteTimeout = 2, -2, -2
	o.ReadBufferSize, o.WriteBufferSize = 1<<10, 1<<10
}

// warm makes each caller send a request, so that each connection of a pool is dialed.
func warm(b *testing.B, callers int, do func(int) error) {
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for i := range 20 {
				if err := do(i); err != nil {
					b.Error(err)
				}
			}
		})
	}
	all.Wait()
}

// instant is a connection that answers every request once all other goroutines have run. So the
// benchmark measures the time of go-redis itself.
type instant struct {
	net.Conn
	replies int
	refuses bool
}

func (c *instant) Write(p []byte) (int, error) {
	c.replies += bytes.Count(p, []byte("*"))
	c.refuses = bytes.Contains(p, []byte("hello"))
	return len(p), nil
}

func (c *instant) Read(p []byte) (n int, _ error) {
	runtime.Gosched()
	for ; c.replies > 0; c.replies-- {
		reply := "+OK\r\n"
		if c.refuses { // commands that need RESP3
			reply = "-ERR\r\n"
		}
		n += copy(p[n:], reply)
	}
	return n, nil
}

func (*instant) Close() error                     { return nil }
func (*instant) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (*instant) SetDeadline(time.Time) error      { return nil }
func (*instant) SetReadDeadline(time.Time) error  { return nil }
func (*instant) SetWriteDeadline(time.Time) error { return nil }
