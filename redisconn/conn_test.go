package redisconn_test

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
	"github.com/joomcode/redispipe/testbed"
)

func TestConnectionTellsOfItself(t *testing.T) {
	s := testbed.NewServer(t)
	type key struct{}
	ctx := context.WithValue(background, key{}, "value")
	handle := &struct{ x int }{1}
	conn, err := redisconn.Connect(ctx, "tcp://"+s.Addr(), redisconn.Opts{Handle: handle, IOTimeout: time.Minute, Logger: redisconn.NoopLogger{}})
	require.NoError(t, err)
	defer conn.Close()
	require.Equal(t, "tcp://"+s.Addr(), conn.Addr())
	require.Equal(t, s.Addr(), conn.RemoteAddr())
	host, _, err := net.SplitHostPort(conn.LocalAddr())
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1", host)
	require.Same(t, handle, conn.Handle())
	require.Equal(t, "value", conn.Ctx().Value(key{}))
	require.NoError(t, conn.Ctx().Err())
	require.Contains(t, conn.String(), s.Addr())
	require.NotContains(t, fmt.Sprintf("%#v", conn), "Password")
	require.True(t, conn.ConnectedNow())
	require.True(t, conn.MayBeConnected())
	require.NoError(t, conn.Ping())
	require.Positive(t, conn.PingLatency())
	require.Less(t, conn.PingLatency(), redisconn.PingMaxLatency)

	conn.Close()
	require.ErrorIs(t, conn.Ctx().Err(), context.Canceled)
	require.False(t, conn.ConnectedNow())
	require.False(t, conn.MayBeConnected())
	requireNotSent(t, conn.Ping(), redis.ErrContextClosed)
	eventually(t, "no socket", func() bool { return conn.LocalAddr() == "" && conn.RemoteAddr() == "" })
	conn.Close()
}

func TestErrorsNameTheConnection(t *testing.T) {
	s := testbed.NewServer(t)
	conn := connect(t, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
	check := func(res any) {
		t.Helper()
		err := redis.AsErrorx(res)
		require.NotNil(t, err)
		got, _ := err.Property(redisconn.EKConnection)
		require.Same(t, conn, got)
		addr, _ := err.Property(redis.EKAddress)
		require.Equal(t, s.Addr(), addr)
	}
	check(sendTo(conn, "NOSUCHCOMMAND").Wait(t))
	check(redis.Sync{S: conn}.Do("SELECT", 1))
	conn.Close()
	check(sendTo(conn, "GET", "a").Wait(t))
}

func TestPing(t *testing.T) {
	s := chaos.NewScripted(t, chaos.ScriptedOpts{Raw: true, Handler: chaos.ScriptedReplies("+PONG\r\n", "+PANG\r\n", "-ERR no\r\n", "+PONG\r\n")})
	conn := connect(t, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}, IOTimeout: time.Minute, NoClientInfo: true})
	requireType(t, conn.Ping(), redis.ErrPing)
	requireType(t, conn.Ping(), redis.ErrResult)
	require.NoError(t, conn.Ping())
}

func TestEachShard(t *testing.T) {
	s := testbed.NewServer(t)
	conn := connect(t, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
	calls := 0
	conn.EachShard(func(sender redis.Sender, err error) bool {
		calls++
		require.NoError(t, err)
		require.Same(t, conn, sender)
		return true
	})
	require.Equal(t, 1, calls)
}

// If a user's type embeds a connection, its own methods are called.
func TestDecorators(t *testing.T) {
	s := testbed.NewServer(t)
	conn := connect(t, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
	value := prefixing{conn}
	for name, sender := range map[string]redis.Sender{"value": value, "pointer": &value} {
		wrapped := redis.Sync{S: sender}
		require.Equal(t, "OK", wrapped.Do("SET", "a", name))
		require.Equal(t, []byte(name), redis.Sync{S: conn}.Do("GET", "prefix:a"))
		var got string
		require.NoError(t, wrapped.DoInto(&got, "GET", "a"))
		require.Equal(t, name, got)
	}
	counter := countingSender{Connection: conn}
	wrapped := redis.Sync{S: &counter}
	require.Equal(t, "PONG", wrapped.Do("PING"), "the promoted Send")
	require.Equal(t, []any{"PONG"}, wrapped.SendMany(requests(redis.Req("PING"))))
	require.EqualValues(t, 1, counter.n.Load())
}

// prefixing puts a prefix before each key.
type prefixing struct{ *redisconn.Connection }

// Send implements redis.Sender.
func (p prefixing) Send(r redis.Request, cb redis.Future, n uint64) {
	key, _ := r.Key()
	r.Args[0] = "prefix:" + key
	p.Connection.Send(r, cb, n)
}

func TestScanner(t *testing.T) {
	s := testbed.NewServer(t)
	conn := connect(t, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
	sync := redis.Sync{S: conn}
	want := map[string]bool{}
	for i := range 500 {
		name := "key:" + string(rune('a'+i%26)) + string(rune('a'+i/26))
		want[name] = true
		require.Equal(t, "OK", sync.Do("SET", name, i))
	}
	require.Equal(t, "OK", sync.Do("SET", "other", 1))
	got := map[string]bool{}
	for it := sync.Scanner(redis.ScanOpts{Match: "key:*", Count: 20}); ; {
		keys, err := it.Next()
		if err == redis.ScanEOF {
			break
		}
		require.NoError(t, err)
		for _, key := range keys {
			got[key] = true
		}
	}
	require.Equal(t, want, got)

	ctx, cancel := context.WithCancel(background)
	cancel()
	_, err := redis.SyncCtx{S: conn}.Scanner(ctx, redis.ScanOpts{}).Next()
	requireType(t, err, redis.ErrRequestCancelled)
	conn.Close()
	_, err = sync.Scanner(redis.ScanOpts{}).Next()
	requireNotSent(t, err, redis.ErrContextClosed)
}

func TestKillAndRestart(t *testing.T) {
	s := testbed.NewServer(t)
	log := &recorder{}
	conn := connect(t, s.Addr(), redisconn.Opts{Logger: log, ReconnectPause: 10 * time.Millisecond, ReconnectPauseMax: 20 * time.Millisecond})
	for range 3 {
		require.NoError(t, conn.Ping())
		require.NoError(t, s.Kill())
		eventually(t, "lost", func() bool { return !conn.ConnectedNow() })
		res := sendTo(conn, "GET", "a").Wait(t)
		require.True(t, redis.AsErrorx(res).HasTrait(redis.ErrTraitNotSent), "%v", res)
		require.True(t, redis.AsErrorx(res).HasTrait(redis.ErrTraitConnectivity), "%v", res)
		require.NoError(t, s.Restart())
		eventually(t, "found again", func() bool { return conn.Ping() == nil })
	}
}

func TestPauseAndResume(t *testing.T) {
	t.Parallel()
	s := testbed.NewServer(t)
	log := &recorder{}
	conn := connect(t, s.Addr(), redisconn.Opts{Logger: log, IOTimeout: time.Second})
	eventually(t, "it is connected, be it late", func() bool { return conn.Ping() == nil })
	failed := log.Count("ConnectFailed")
	require.NoError(t, s.Pause())
	requireUnknown(t, sendTo(conn, "GET", "a").Wait(t), redis.ErrIO)
	eventually(t, "the handshake fails", func() bool { return log.Count("ConnectFailed") > failed })
	require.NoError(t, s.Resume())
	eventually(t, "found again", func() bool { return conn.Ping() == nil })
}

func TestAsyncDial(t *testing.T) {
	s := testbed.NewServer(t)
	conn := connect(t, s.Addr(), redisconn.Opts{AsyncDial: true, Logger: redisconn.NoopLogger{}})
	require.NoError(t, conn.Ping(), "it waits for the connection")
	require.True(t, conn.ConnectedNow())
}

// A request that is sent while the connection is being closed still gets a result.
func TestSendRacesClose(t *testing.T) {
	s := testbed.NewServer(t)
	for range 30 {
		conn := connect(t, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
		var wg sync.WaitGroup
		var refused atomic.Int64
		for range 8 {
			wg.Go(func() {
				for refused.Load() < 100 {
					if err := redis.AsErrorx(sendTo(conn, "GET", "a").Wait(t)); err != nil {
						if !err.IsOfType(redis.ErrContextClosed) && !err.IsOfType(redis.ErrIO) {
							t.Errorf("%v", err)
						}
						refused.Add(1)
					}
				}
			})
		}
		conn.Close()
		wg.Wait()
	}
}
