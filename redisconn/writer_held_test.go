package redisconn_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/lab/virtualtime"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
)

// While a future holds up the reader, requests are still written, because the future may wait for
// their effect.
func TestWrittenThoughAFutureHoldsTheReader(t *testing.T) {
	virtualtime.Run(t, func(t *testing.T) {
		arrived := make(chan struct{})
		many := 0
		p := &pipes{answer: func(args []string) string {
			switch args[0] {
			case "PING":
				return pong(args)
			case "MANY": // the server answers all of them with one write, so that it can continue
				if many++; many < 8 {
					return ""
				}
				return strings.Repeat("+OK\r\n", 8)
			case "RELEASE":
				close(arrived)
			}
			return "+OK\r\n"
		}}
		conn, err := redisconn.Connect(background, "pipe:1", redisconn.Opts{
			IOTimeout: time.Minute, Logger: redisconn.NoopLogger{}, Dialer: p.dial,
		})
		require.NoError(t, err)
		defer func() {
			conn.Close()
			time.Sleep(time.Hour)
		}()
		began := time.Now()
		held := newOutcomes(8)
		conn.SendMany(slices.Repeat([]redis.Request{redis.Req("MANY")}, 8), redis.FuncFuture(func(res any, n uint64) {
			if n == 3 {
				<-arrived
			}
			held.Resolve(res, n)
		}), 0)
		synctest.Wait()
		released := sendTo(conn, "RELEASE")
		held.wait(t)
		require.Equal(t, "OK", released.wait(t))
		require.Zero(t, time.Since(began))
	})
}
