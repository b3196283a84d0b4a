package redisconn_test

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/faulty"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
)

// slowDial is a connection that stays in the state of connecting until told.
func slowDial(t *testing.T, s *faulty.ScriptedServer, opts redisconn.Opts) (*redisconn.Connection, func()) {
	t.Helper()
	ready := make(chan struct{})
	opts.AsyncDial, opts.DialTimeout, opts.IOTimeout, opts.NoClientInfo = true, time.Minute, time.Minute, true
	if opts.Logger == nil {
		opts.Logger = redisconn.NoopLogger{}
	}
	opts.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		select {
		case <-ready:
		case <-ctx.Done():
		}
		return (&net.Dialer{}).DialContext(ctx, network, addr)
	}
	conn := connect(t, s.Addr(), opts)
	return conn, sync.OnceFunc(func() { close(ready) })
}

func TestQueueBounds(t *testing.T) {
	s := faulty.NewScripted(t, faulty.ScriptedOpts{})
	t.Run("requests", func(t *testing.T) {
		conn, ready := slowDial(t, s, redisconn.Opts{MaxRequests: 3})
		var queued []*outcome
		for range 3 {
			queued = append(queued, send(conn, "GET", "a"))
		}
		requireNotSent(t, send(conn, "GET", "a").wait(t), redis.ErrQueueFull)
		ctx, cancel := context.WithTimeout(background, 20*time.Millisecond)
		defer cancel()
		err := requireType(t, redis.SyncCtx{S: conn}.Do(ctx, "GET", "a"), redis.ErrRequestWithdrawn)
		require.True(t, err.HasTrait(redis.ErrTraitNotSent))
		res := make(chan any)
		go func() { res <- redis.Sync{S: conn}.Do("GET", "a") }()
		ready()
		require.Equal(t, "OK", <-res, "it waits for room")
		for _, o := range queued {
			require.Equal(t, "OK", o.wait(t))
		}
	})
	t.Run("bytes", func(t *testing.T) {
		conn, ready := slowDial(t, s, redisconn.Opts{MaxBytes: 1000})
		first := send(conn, "SET", "a", make([]byte, 2000)) // larger than the bound, but alone
		requireNotSent(t, send(conn, "GET", "a").wait(t), redis.ErrQueueFull)
		ready()
		require.Equal(t, "OK", first.wait(t))
	})
	t.Run("a batch that does not fit waits, and does not spin", func(t *testing.T) {
		conn, ready := slowDial(t, s, redisconn.Opts{MaxRequests: 4})
		queued := send(conn, "GET", "a")
		counter := &countingSender{Connection: conn}
		ctx, cancel := context.WithTimeout(background, 100*time.Millisecond)
		defer cancel()
		reqs := requests(redis.Req("GET", 1), redis.Req("GET", 2), redis.Req("GET", 3), redis.Req("GET", 4))
		for _, res := range (redis.SyncCtx{S: counter}).SendMany(ctx, reqs) {
			require.True(t, redis.AsErrorx(res).HasTrait(redis.ErrTraitNotSent), "%v", res)
		}
		require.Less(t, counter.n.Load(), int64(10))
		ready()
		queued.wait(t)
	})
}

// countingSender counts calls of SendMany.
type countingSender struct {
	*redisconn.Connection
	n atomic.Int64
}

// SendMany implements redis.Sender.
func (c *countingSender) SendMany(reqs []redis.Request, cb redis.Future, start uint64) {
	c.n.Add(1)
	c.Connection.SendMany(reqs, cb, start)
}
