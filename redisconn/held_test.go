package redisconn_test

import (
	"context"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
)

// nearby is a connection of a server on the same machine.
type nearby struct{ net.Conn }

func (nearby) LocalAddr() net.Addr  { return &net.UnixAddr{Net: "unix"} }
func (nearby) RemoteAddr() net.Addr { return &net.UnixAddr{Net: "unix"} }

// A batch that is held back is written soon, even if a future that waits for it
// keeps the reader from answering anything.
func TestHeldBatchDoesNotWaitForTheReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		arrived := make(chan time.Time, 1)
		many := 0
		p := &pipes{answer: func(args []string) string {
			time.Sleep(50 * time.Microsecond) // a server that is worth waiting for
			switch args[0] {
			case "PING":
				return pong(args)
			case "MANY": // all are answered by one write, so that the server goes on
				if many++; many < 8 {
					return ""
				}
				return strings.Repeat("+OK\r\n", 8)
			case "RELEASE":
				arrived <- time.Now()
			}
			return "+OK\r\n"
		}}
		conn, err := redisconn.Connect(background, "pipe:1", redisconn.Opts{
			IOTimeout: time.Minute, Logger: redisconn.NoopLogger{},
			Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
				socket, err := p.dial(ctx, network, addr)
				return nearby{socket}, err
			},
		})
		require.NoError(t, err)
		defer func() {
			conn.Close()
			time.Sleep(time.Hour)
		}()
		for range 2 { // the second time it knows how long the server takes
			require.Equal(t, "OK", send(conn, "GET", "key").wait(t))
		}
		var wait time.Duration
		all := newOutcomes(8)
		conn.SendMany(slices.Repeat(requests(redis.Req("MANY")), 8), redis.FuncFuture(func(res any, n uint64) {
			if n == 3 {
				began := time.Now()
				wait = (<-arrived).Sub(began)
			}
			all.Resolve(res, n)
		}), 0)
		time.Sleep(time.Millisecond) // the future waits
		released := send(conn, "RELEASE")
		all.wait(t)
		require.Equal(t, "OK", released.wait(t))
		require.Greater(t, wait, time.Millisecond, "it was not held back")
		require.LessOrEqual(t, wait, 15*time.Millisecond)
	})
}
