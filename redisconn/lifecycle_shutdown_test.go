package redisconn_test

import (
	"context"
	"io"
	"sync/atomic"
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

func TestShutdownWaitsForWhatIsInFlight(t *testing.T) {
	s := testbed.NewServer(t)
	conn := connect(t, s.Addr(), redisconn.Opts{IOTimeout: time.Minute, Logger: redisconn.NoopLogger{}})
	require.NoError(t, s.Pause())
	future := redis.ChanFutured{S: conn}.Send(redis.Req("INCR", "a"))
	ended := make(chan error, 1)
	go func() { ended <- conn.Shutdown(context.Background()) }()
	require.Eventually(t, func() bool {
		var refused atomic.Bool
		conn.Send(redis.Req("GET", "a"), redis.FuncFuture(func(res any, _ uint64) {
			err := redis.AsErrorx(res)
			refused.Store(err != nil && err.IsOfType(redis.ErrContextClosed))
		}), 0)
		return refused.Load()
	}, patience, time.Millisecond)
	require.NoError(t, s.Resume())
	require.NoError(t, <-ended)
	require.Equal(t, int64(1), future.Value())
	require.Error(t, conn.Ctx().Err())
}

func TestShutdownCountsWhatIsLeft(t *testing.T) {
	s := testbed.NewServer(t)
	conn := connect(t, s.Addr(), redisconn.Opts{IOTimeout: time.Minute, Logger: redisconn.NoopLogger{}})
	require.NoError(t, s.Pause())
	defer s.Resume()
	future := redis.ChanFutured{S: conn}.Send(redis.Req("INCR", "a"))
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	err := redis.AsErrorx(conn.Shutdown(ctx))
	require.True(t, err.IsOfType(redisconn.ErrShutdown))
	unknown, _ := err.Property(redisconn.EKUnknown)
	require.Equal(t, 1, unknown)
	left := redis.AsErrorx(future.Value())
	require.True(t, left.IsOfType(redis.ErrIO), "%v", left)
	require.False(t, left.HasTrait(redis.ErrTraitNotSent))
}

// TestShutdownCountsNothingOfItsOwn: Shutdown counts users' requests, but neither an unanswered
// heartbeat or fence, nor MULTI and EXEC.
func TestShutdownCountsNothingOfItsOwn(t *testing.T) {
	virtualtime.Run(t, func(t *testing.T) {
		handshake := true
		p := &pipes{Answer: func(args []string) string {
			if handshake {
				handshake = false
				return "+PONG\r\n"
			}
			return ""
		}}
		conn, _ := connectPipes(t, p, redisconn.Opts{IOTimeout: time.Minute, Integrity: true})
		time.Sleep(30 * time.Second) // the heartbeat is unanswered
		require.Zero(t, conn.Pending())
		conn.Send(redis.Req("GET", "a"), nil, 0)
		conn.SendTransaction([]redis.Request{redis.Req("INCR", "a"), redis.Req("INCR", "b")}, nil, 0)
		conn.SendAsk(redis.Req("GET", "a"), nil, 0, true)
		conn.SendBatchFlags([]redis.Request{redis.Req("GET", "a"), redis.Req("GET", struct{}{})}, nil, 0, redisconn.DoAsking)
		synctest.Wait()
		require.Equal(t, 4, conn.Pending())

		ctx, cancel := context.WithTimeout(background, time.Second)
		defer cancel()
		err := redis.AsErrorx(conn.Shutdown(ctx))
		require.True(t, err.IsOfType(redisconn.ErrShutdown), "%v", err)
		unknown, _ := err.Property(redisconn.EKUnknown)
		require.Equal(t, 4, unknown)
	})
}

// TestShutdownDoesNotWaitForItsOwn: Shutdown does not wait for the answer to a heartbeat.
func TestShutdownDoesNotWaitForItsOwn(t *testing.T) {
	virtualtime.Run(t, func(t *testing.T) {
		p, count := conntest.Beats(func(string) string { return "" })
		conn, _ := connectPipes(t, p, redisconn.Opts{IOTimeout: time.Minute})
		time.Sleep(30 * time.Second)
		require.Equal(t, int64(1), count.Load())
		began := time.Now()
		require.NoError(t, conn.Shutdown(background))
		require.Zero(t, time.Since(began))
	})
}

// While Shutdown waits for a session, the client refuses new requests. The session may send
// anything but blocking commands.
func TestShutdownWaitsForSession(t *testing.T) {
	s := testbed.NewServer(t)
	conn := connect(t, s.Addr(), quiet)
	session, err := redis.OpenSession(t.Context(), conn, "")
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() { ended <- conn.Shutdown(t.Context()) }()
	eventually(t, "nothing is taken", func() bool {
		err := redis.AsErrorx(sendTo(conn, "PING").Wait(t))
		return err != nil && err.IsOfType(redis.ErrContextClosed)
	})
	require.Equal(t, "OK", session.Do("SET", "k", "v"))
	requireNotSent(t, session.Do("BLPOP", "list", 0), redis.ErrContextClosed)
	require.Equal(t, []byte("v"), session.Do("GET", "k"))
	_, err = redis.OpenSession(t.Context(), conn, "")
	requireNotSent(t, err, redis.ErrContextClosed)
	require.NotErrorIs(t, err, context.Canceled, "no context of the user's has ended")
	require.Empty(t, ended)
	session.Close()
	require.NoError(t, conntest.Await(t, "Shutdown", ended))
}

// While Shutdown waits for a session, a lost shared socket is not dialed again, because nothing may
// use it any more and the session's server may be gone.
func TestShutdownDialsNoMore(t *testing.T) {
	s := testbed.NewServer(t)
	log := &recorder{}
	conn := connect(t, s.Addr(), redisconn.Opts{Logger: log})
	session, err := redis.OpenSession(t.Context(), conn, "")
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() { ended <- conn.Shutdown(t.Context()) }()
	eventually(t, "nothing is taken", func() bool { return redis.AsError(sendTo(conn, "PING").Wait(t)) != nil })
	require.NoError(t, s.Kill())
	eventually(t, "the shared socket is lost", func() bool { return log.Count("Disconnected") == 1 })
	requireNotSent(t, session.Do("GET", "k"), redisconn.ErrNotConnected)
	session.Close()
	require.NoError(t, conntest.Await(t, "Shutdown", ended))
	eventually(t, "the end", func() bool { return log.Count("ContextClosed") == 1 })
	require.Equal(t, []string{"Connecting", "Connected", "DedicatedConnected", "Disconnected", "ContextClosed"}, log.Names())
}

// While Shutdown waits for a session, the shared socket is not dialed again, even if the pause
// before the next attempt has begun.
func TestShutdownDialsNoMoreAfterAPause(t *testing.T) {
	virtualtime.Run(t, func(t *testing.T) {
		var down atomic.Bool
		p := &pipes{Refuse: func() error {
			if down.Load() {
				return io.EOF
			}
			return nil
		}}
		conn, _ := connectPipes(t, p, redisconn.Opts{ReconnectPause: time.Minute})
		shared := p.LastConn()
		session, err := redis.OpenSession(t.Context(), conn, "")
		require.NoError(t, err)
		down.Store(true)
		require.NoError(t, shared.Close())
		synctest.Wait()
		dialed := len(p.Dialed())
		ended := make(chan error, 1)
		go func() { ended <- conn.Shutdown(t.Context()) }()
		time.Sleep(time.Hour)
		require.Len(t, p.Dialed(), dialed)
		session.Close()
		require.NoError(t, <-ended)
	})
}

// If a session is still open when the context ends, Shutdown counts it.
func TestShutdownCountsSessions(t *testing.T) {
	s := testbed.NewServer(t)
	conn := connect(t, s.Addr(), quiet)
	session, err := redis.OpenSession(t.Context(), conn, "")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	failed := requireType(t, conn.Shutdown(ctx), redisconn.ErrShutdown)
	unknown, _ := failed.Property(redisconn.EKUnknown)
	require.Equal(t, 1, unknown)
	eventually(t, "it is lost", func() bool { return redis.AsError(session.Do("PING")) != nil })
	session.Close()
}

// Shutdown returns when its context ends, even if a future blocks the goroutine that resolves
// leftovers.
func TestShutdownRefusesAside(t *testing.T) {
	s := testbed.NewServer(t)
	conn := connect(t, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}, DedicatedConns: 1})
	admin := redis.Sync{S: connect(t, s.Addr(), quiet)}
	blocks := sendTo(conn, "BLPOP", "list", 0)
	blocked(t, admin, 1)
	held, release := make(chan struct{}), make(chan struct{})
	conn.Send(redis.Req("BLPOP", "list", 0), redis.FuncFuture(func(any, uint64) { close(held); <-release }), 0)
	waits := sendTo(conn, "BLPOP", "list", 0)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- conn.Shutdown(ctx) }()
	conntest.Await(t, "the future", held)
	requireNotSent(t, waits.Wait(t), redis.ErrContextClosed)
	requireNotSent(t, blocks.Wait(t), redis.ErrContextClosed)
	cancel()
	requireType(t, conntest.Await(t, "Shutdown", ended), redisconn.ErrShutdown)
	close(release)
}

// Shutdown does not wait for a connection that is made like new for the next session, or that is
// being dialed.
func TestShutdownWhileServerIsFrozen(t *testing.T) {
	s := testbed.NewServer(t)
	conn := connect(t, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}, IOTimeout: time.Hour})
	session, err := redis.OpenSession(t.Context(), conn, "")
	require.NoError(t, err)
	require.NoError(t, s.Pause())
	defer func() { require.NoError(t, s.Resume()) }()
	session.Close()
	dials := sendTo(conn, "BLPOP", "list", 0)
	ended := make(chan error, 1)
	go func() { ended <- conn.Shutdown(t.Context()) }()
	requireNotSent(t, dials.Wait(t), redis.ErrContextClosed)
	require.NoError(t, conntest.Await(t, "Shutdown", ended))
}

// While a blocking command waits for a frozen server, Shutdown refuses new requests, but can still
// unblock the command.
func TestShutdownRefusesBesideBlocking(t *testing.T) {
	s := testbed.NewServer(t)
	conn := connect(t, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}, IOTimeout: time.Hour})
	blocks := sendTo(conn, "BLPOP", "list", 0)
	blocked(t, redis.Sync{S: connect(t, s.Addr(), quiet)}, 1)
	require.NoError(t, s.Pause())
	ended := make(chan error, 1)
	go func() { ended <- conn.Shutdown(t.Context()) }()
	eventually(t, "nothing is taken", func() bool { return len(sendTo(conn, "GET", "a").Result) > 0 })
	require.Empty(t, ended)
	require.Empty(t, blocks.Result)
	require.NoError(t, s.Resume())
	requireNotSent(t, blocks.Wait(t), redis.ErrContextClosed)
	require.NoError(t, conntest.Await(t, "Shutdown", ended))
}

// While Shutdown waits for requests, no stream can begin.
func TestShutdownRefusesStreamsAtOnce(t *testing.T) {
	s := testbed.NewServer(t)
	conn := connect(t, s.Addr(), redisconn.Opts{ScriptMode: true, Logger: redisconn.NoopLogger{}})
	blocked := sendTo(conn, "BLPOP", "list", 0)
	ended := make(chan error, 1)
	go func() { ended <- conn.Shutdown(t.Context()) }()
	eventually(t, "nothing is taken", func() bool { return len(sendTo(conn, "GET", "a").Result) > 0 })
	requireNotSent(t, conn.DoStream(t.Context(), nil, "PING"), redis.ErrContextClosed)
	require.Empty(t, ended)
	require.Equal(t, int64(1), s.Do("LPUSH", "list", "v"))
	require.Equal(t, []any{[]byte("list"), []byte("v")}, blocked.Wait(t))
	require.NoError(t, conntest.Await(t, "Shutdown", ended))
}
