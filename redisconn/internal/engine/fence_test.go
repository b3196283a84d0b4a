package engine_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/conntest"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

func TestIntegrityKeepsOrderAndTypes(t *testing.T) {
	s := testbed.NewServer(t)
	conn := connect(t, s.Addr(), redisconn.Opts{Integrity: true, Logger: redisconn.NoopLogger{}})
	sender := redis.Sync{S: conn}
	var wg sync.WaitGroup
	for g := range 50 {
		wg.Go(func() {
			for i := range 100 {
				want := fmt.Sprintf("%d-%d", g, i)
				var got string
				if err := sender.DoInto(&got, "ECHO", want); err != nil || got != want {
					t.Errorf("ECHO %s: %q, %v", want, got, err)
					return
				}
			}
		})
	}
	wg.Wait()
	results, err := sender.SendTransaction([]redis.Request{redis.Req("SET", "a", 1), redis.Req("INCR", "a")})
	require.NoError(t, err)
	require.Equal(t, []any{"OK", int64(2)}, results)
	require.NoError(t, conn.Ping())
}

// If a future panics in the middle of a batch, the other replies of the batch are still delivered.
func TestIntegrityOutlivesPanics(t *testing.T) {
	s := testbed.NewServer(t)
	conn := connect(t, s.Addr(), redisconn.Opts{Integrity: true, Logger: redisconn.NoopLogger{}})
	results := make(chan any, 10)
	reqs := make([]redis.Request, 10)
	for i := range reqs {
		reqs[i] = redis.Req("ECHO", i)
	}
	conn.SendMany(reqs, redis.FuncFuture(func(res any, n uint64) {
		results <- res
		if n%3 == 0 {
			panic("on purpose")
		}
	}), 0)
	for i := range reqs {
		require.Equal(t, fmt.Appendf(nil, "%d", i), <-results)
	}
	require.NoError(t, conn.Ping())
}

// The connection is closed after the last reply of a batch was read and before the replies are
// delivered. All requests are resolved by then, so the reader delivers nothing and ends.
func TestIntegrityCloseBeforeTheRelease(t *testing.T) {
	s := testbed.NewServer(t)
	var conn *redisconn.Connection
	o, resolved := newOutcome(), make(chan struct{})
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		socket, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		var all []byte
		return &conntest.Socket{Conn: socket, OnRead: func(got byte) {
			all = append(all, got)
			_, fence, _ := bytes.Cut(all, []byte("the reply\r\n"))
			if len(fence) == len("$16\r\n0123456789abcdef\r\n") {
				conn.Close()
				<-resolved
			}
		}}, err
	}
	conn = connect(t, s.Addr(), redisconn.Opts{Integrity: true, Dialer: dial, Logger: redisconn.NoopLogger{}})
	conn.Send(redis.Req("ECHO", "the reply"), redis.FuncFuture(func(res any, n uint64) {
		o.Resolve(res, n)
		close(resolved)
	}), 0)
	requireUnknown(t, o.Wait(t), redis.ErrIO)
	requireNoneLeft(t)
}
