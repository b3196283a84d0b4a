package redisconn_test

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/lab/drill"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
	"github.com/joomcode/redispipe/testbed"
)

// A Session that OpenSession has not made behaves like a closed one.
func TestZeroSession(t *testing.T) {
	var s redis.Session
	reqs := []redis.Request{redis.Req("GET", "a")}
	_, err := s.Transact(reqs)
	for _, res := range append(s.SendMany(reqs), s.Do("GET", "a"), err) {
		require.True(t, redis.AsErrorx(res).IsOfType(redis.ErrSessionClosed), "%v", res)
		require.Equal(t, redis.OutcomeNotSent, redis.OutcomeOf(res))
	}
	s.Close()
}

// Each session fails once, no matter which goroutine notices first. Leftovers of a session do not
// affect the next session, and every request gets one outcome.
func TestSessionsFollowEachOther(t *testing.T) {
	drill.Rotate(t)
	s := testbed.NewServer(t)
	var mu sync.Mutex
	var socket net.Conn
	log := &recorder{}
	conn := connect(t, s.Addr(), redisconn.Opts{
		Logger: log, ReconnectPause: time.Millisecond, ReconnectPauseMax: time.Millisecond,
		Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
			mu.Lock()
			defer mu.Unlock()
			socket = conn
			return conn, err
		},
	})
	var stop atomic.Bool
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for !stop.Load() {
				o := newOutcome()
				conn.Send(redis.Req("ECHO", "x"), o, 0)
				if err := redis.AsErrorx(o.wait(t)); err != nil && !err.HasTrait(redis.ErrTraitConnectivity) {
					t.Errorf("%v", err)
				}
			}
		})
	}
	for lost := 1; lost <= 200; lost++ {
		mu.Lock()
		_ = socket.Close()
		mu.Unlock()
		eventually(t, "connected again", func() bool { return log.count("Disconnected") >= lost && conn.ConnectedNow() })
	}
	stop.Store(true)
	wg.Wait()
	eventually(t, "it lives", func() bool { return conn.Ping() == nil })
	eventually(t, "told", func() bool { return log.count("Connected") == log.count("Disconnected")+1 })
}

// A connection has three goroutines and, while idle, takes little memory. Close ends the
// goroutines.
func TestIdleConnectionsAreSmall(t *testing.T) {
	s := testbed.NewServer(t)
	idleConnection(t, s.Addr()) // allocates what is allocated only once
	require.LessOrEqual(t, idleConnection(t, s.Addr()), 64<<10)
}

// idleConnection measures how many bytes of memory an idle connection takes.
func idleConnection(t *testing.T, addr string) (memory int) {
	t.Helper()
	const n = 100
	goroutines, before := resources()
	var conns []*redisconn.Connection
	for range n {
		conns = append(conns, connect(t, addr, redisconn.Opts{Logger: redisconn.NoopLogger{}}))
	}
	for _, conn := range conns {
		require.NoError(t, conn.Ping())
	}
	moreGoroutines, after := resources()
	require.LessOrEqual(t, moreGoroutines-goroutines, 4*n)
	memory = (after - before) / n
	t.Logf("%d bytes per connection", memory)
	for _, conn := range conns {
		conn.Close()
	}
	eventually(t, "goroutines end", func() bool {
		now, _ := resources()
		return now <= goroutines
	})
	return memory
}

// Calls that wait for the rest of an incomplete push end when their contexts end.
func TestContextEndsWaitsForTheRestOfAPush(t *testing.T) {
	const half = ">2\r\n$10\r\ninval"
	server := chaos.NewScripted(t, chaos.ScriptedOpts{Handler: func(conn *chaos.ScriptedConn, r chaos.ScriptedRequest) error {
		reply := "+OK\r\n"
		switch r.Cmd {
		case "INFO":
			reply = chaos.ScriptedBulk("run_id:a")
		case "HALF", "BLPOP":
			reply += half
		}
		_, err := conn.Write([]byte(reply))
		return err
	}})
	conn := connect(t, server.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}, NoClientInfo: true, Protocol: 3, IOTimeout: patience})
	ctx, cancel := context.WithCancel(background)
	session, err := redis.OpenSession(ctx, conn, "")
	require.NoError(t, err)
	defer session.Close()
	require.Equal(t, "OK", session.Do("HALF"))
	sync := redis.SyncCtx{S: conn}
	require.Equal(t, "OK", sync.Do(background, "BLPOP", "a", 0))
	time.AfterFunc(50*time.Millisecond, cancel)
	blocking := make(chan any, 1)
	go func() { blocking <- sync.Do(ctx, "BLPOP", "a", 0) }()
	require.ErrorIs(t, redis.Err(session.Do("GET", "a")), context.Canceled)
	require.ErrorIs(t, redis.Err(<-blocking), context.Canceled)
}
