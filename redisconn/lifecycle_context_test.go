package redisconn_test

import (
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/conntest"
	"github.com/joomcode/redispipe/internal/lab/virtualtime"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

func TestContextEndsWhileConnecting(t *testing.T) {
	virtualtime.Run(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(background, time.Second)
		defer cancel()
		began := time.Now()
		_, err := redisconn.Connect(ctx, "pipe:1", redisconn.Opts{IOTimeout: time.Hour, Dialer: stuck, Logger: redisconn.NoopLogger{}})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, time.Second, time.Since(began))
		synctest.Wait()
	})
}

// late is a context whose deadline has passed but whose timer has not fired yet, as in a process
// that has stood still.
type late struct{ context.Context }

func (late) Deadline() (time.Time, bool) { return time.Now().Add(-time.Millisecond), true }

// Package net ends a dial at the deadline, possibly before the context has ended.
func TestConnectIsLate(t *testing.T) {
	addr := testbed.NewServer(t).Addr()
	conn, err := redisconn.Connect(late{background}, addr, redisconn.Opts{Logger: redisconn.NoopLogger{}})
	require.Nil(t, conn)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	var timedOut net.Error
	require.ErrorAs(t, err, &timedOut)
	require.True(t, timedOut.Timeout())
	require.ErrorIs(t, err, redis.ErrNotSent)
}

func TestContextEndsTheConnection(t *testing.T) {
	virtualtime.Run(t, func(t *testing.T) {
		p := &pipes{Answer: conntest.SilentAfter}
		ctx, cancel := context.WithCancel(background)
		log := &recorder{}
		conn, err := redisconn.Connect(ctx, "pipe:1", redisconn.Opts{Dialer: p.Dial, Logger: log, NoClientInfo: true})
		require.NoError(t, err)
		inFlight := sendTo(conn, "GET", "a")
		synctest.Wait()
		cancel()
		refused := requireNotSent(t, sendTo(conn, "GET", "b").Wait(t), redis.ErrContextClosed)
		require.True(t, redis.CausedBy(refused, context.Canceled))
		left := requireUnknown(t, inFlight.Wait(t), redis.ErrIO)
		require.True(t, redis.CausedBy(left, context.Canceled))
		synctest.Wait()
		require.False(t, conn.MayBeConnected())
		require.Equal(t, []string{"Connecting", "Connected", "Disconnected", "ContextClosed"}, log.Names())
		require.Equal(t, context.Canceled, conntest.Event[redisconn.LogContextClosed](log).Error)
		requireType(t, conntest.Event[redisconn.LogDisconnected](log).Error, redis.ErrContextClosed)
	})
}

// A context with a deadline limits only Connect, no matter how the context ends. The connection
// reports once that it has outlived the context.
func TestContextWithDeadline(t *testing.T) {
	for name, end := range map[string]func(cancel func()){
		"cancelled": func(cancel func()) { cancel() },
		"too late":  func(func()) { time.Sleep(time.Minute) },
	} {
		t.Run(name, func(t *testing.T) {
			virtualtime.Run(t, func(t *testing.T) {
				p := &pipes{Answer: pong}
				ctx, cancel := context.WithTimeout(background, time.Minute)
				defer cancel()
				log := &recorder{}
				conn, err := redisconn.Connect(ctx, "pipe:1", redisconn.Opts{Dialer: p.Dial, Logger: log, NoClientInfo: true})
				require.NoError(t, err)
				synctest.Wait()
				require.Zero(t, log.Count("ContextOutlived"))
				end(cancel)
				synctest.Wait()
				require.NoError(t, conn.Ctx().Err())
				require.Equal(t, "PONG", sendTo(conn, "PING").Wait(t))
				require.Equal(t, []string{"Connecting", "Connected", "ContextOutlived"}, log.Names())
				require.ErrorIs(t, conntest.Event[redisconn.LogContextOutlived](log).Error, ctx.Err())
				conn.Close()
				closed := requireNotSent(t, sendTo(conn, "PING").Wait(t), redis.ErrContextClosed)
				require.False(t, redis.CausedBy(closed, context.Canceled), "it was closed")
				time.Sleep(time.Minute) // lets the server notice
			})
		})
	}
}

// If a connection was closed before its context ends, it does not report that it has outlived the
// context.
func TestContextWithDeadlineAfterClose(t *testing.T) {
	virtualtime.Run(t, func(t *testing.T) {
		p := &pipes{Answer: pong}
		ctx, cancel := context.WithTimeout(background, time.Minute)
		log := &recorder{}
		conn, err := redisconn.Connect(ctx, "pipe:1", redisconn.Opts{Dialer: p.Dial, Logger: log, NoClientInfo: true, AsyncDial: true})
		require.NoError(t, err)
		conn.Close()
		synctest.Wait()
		cancel()
		time.Sleep(time.Minute)
		require.Zero(t, log.Count("ContextOutlived"))
	})
}

// With AsyncDial, a context with a deadline does not limit the first attempt, because Connect has
// returned by then.
func TestContextWithDeadlineAndAsyncDial(t *testing.T) {
	virtualtime.Run(t, func(t *testing.T) {
		p := &pipes{Answer: pong, Refuse: func() error { time.Sleep(100 * time.Millisecond); return nil }}
		ctx, cancel := context.WithTimeout(background, time.Minute)
		conn, err := redisconn.Connect(ctx, "pipe:1", redisconn.Opts{
			Dialer: p.Dial, Logger: redisconn.NoopLogger{}, NoClientInfo: true, AsyncDial: true,
		})
		cancel()
		require.NoError(t, err)
		require.Equal(t, "PONG", sendTo(conn, "PING").Wait(t))
		conn.Close()
		time.Sleep(time.Minute) // lets the server notice
	})
}
