package redisconn_test

import (
	"context"
	"errors"
	"net"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/conntest"
	"github.com/joomcode/redispipe/internal/lab/virtualtime"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
	"github.com/joomcode/redispipe/testbed"
)

// An idle connection may be checked before its use. The caller that waits for that leaves when its
// context ends.
func TestDedicatedCheckEndsWithContext(t *testing.T) {
	s := testbed.NewServer(t)
	conn := connect(t, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}, IOTimeout: time.Hour,
		Dialer: dedicatedAs(func(conn net.Conn) net.Conn { return &conntest.Socket{Conn: conn} })})
	require.Nil(t, redis.Sync{S: conn}.Do("BLPOP", "list", 0.01))
	require.NoError(t, s.Pause())
	defer func() { require.NoError(t, s.Resume()) }()
	ctx, cancel := context.WithCancel(t.Context())
	waits := doing(ctx, conn, "BLPOP", "list", 0)
	eventually(t, "it is granted", func() bool { return conn.Pending() == 1 })
	cancel()
	requireNotSent(t, conntest.Await(t, "the end", waits), redis.ErrRequestWithdrawn)
}

// If a caller leaves while its connection is being dialed, the next caller gets that connection. So
// the client does not dial a slow server once for each caller.
func TestDedicatedIsMadeForTheNext(t *testing.T) {
	s := testbed.NewServer(t)
	var dials atomic.Int64
	release := make(chan struct{})
	conn := connect(t, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}, DedicatedConns: 2, IOTimeout: time.Hour,
		Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
			if dials.Add(1) > 1 { // the first dial is for the shared connection
				select {
				case <-release:
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			}
			return (&net.Dialer{}).DialContext(ctx, network, addr)
		}})
	for round := range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		waits := doing(ctx, conn, "BLPOP", "list", 0)
		// Dials whose callers have left occupy two places. Further callers wait for a place.
		eventually(t, "it waits", func() bool { return conn.Pending() == min(round+1, 3) })
		cancel()
		requireNotSent(t, conntest.Await(t, "the end", waits), redis.ErrRequestWithdrawn)
	}
	eventually(t, "both are dialed", func() bool { return dials.Load() == 3 })
	next := doing(t.Context(), conn, "BLPOP", "list", 0.01)
	close(release)
	require.Nil(t, conntest.Await(t, "the next", next))
	require.Equal(t, int64(3), dials.Load(), "two places, two connections")
}

// If an idle connection receives unsolicited bytes, it is closed. No request gets these bytes.
func TestDedicatedUnsolicited(t *testing.T) {
	s := chaos.NewScripted(t, chaos.ScriptedOpts{Handler: func(c *chaos.ScriptedConn, r chaos.ScriptedRequest) error {
		reply := "*-1\r\n"
		if r.Cmd == "BLPOP" {
			reply += "+junk\r\n"
		}
		_, err := c.Write([]byte(reply))
		return err
	}})
	conn := connect(t, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{},
		Dialer: dedicatedAs(func(conn net.Conn) net.Conn { return &conntest.Socket{Conn: conn, OnRead: func(byte) {}} })})
	client := redis.Sync{S: conn}
	require.Nil(t, client.Do("BLPOP", "list", 0))
	require.Nil(t, client.Do("BLPOP", "list", 0))
	require.Equal(t, 3, s.Accepted(), "the shared connection and two others")
}

// The logger gets an event for the first few connections that are made, lost or refused, and not
// for each one after them.
func TestDedicatedEvents(t *testing.T) {
	s := testbed.NewServer(t)
	log := &recorder{}
	conn := connect(t, s.Addr(), redisconn.Opts{Logger: log})
	client := redis.Sync{S: conn}
	const workers = 4
	var pops []*outcome
	for range workers {
		pops = append(pops, sendTo(conn, "BLPOP", "list", 0))
	}
	blocked(t, client, workers)
	made := conntest.Event[redisconn.LogDedicatedConnected](log)
	require.Equal(t, s.Addr(), made.RemoteAddr)
	require.NotEmpty(t, made.LocalAddr)
	require.NoError(t, s.Kill())
	for _, pop := range pops {
		requireUnknown(t, pop.Wait(t), redis.ErrIO)
	}
	requireUnknown(t, conntest.Event[redisconn.LogDedicatedDisconnected](log).Error, redis.ErrIO)
	for range workers {
		requireNotSent(t, sendTo(conn, "BLPOP", "list", 0).Wait(t), redisconn.ErrDial)
	}
	requireNotSent(t, conntest.Event[redisconn.LogDedicatedFailed](log).Error, redisconn.ErrDial)
	stats := conn.Stats().Dedicated
	require.EqualValues(t, workers, stats.Connects)
	require.EqualValues(t, workers, stats.Disconnects)
	require.EqualValues(t, workers, stats.FailedDials)
}

func TestDedicatedStats(t *testing.T) {
	s := testbed.NewServer(t)
	conn := connect(t, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}, DedicatedConns: 2})
	client := redis.Sync{S: conn}
	pop := sendTo(conn, "BLPOP", "list", 0)
	blocked(t, client, 1)
	session, err := redis.OpenSession(t.Context(), conn, "")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	waits := doing(ctx, conn, "BLPOP", "list", 0)
	eventually(t, "one waits", func() bool { return conn.Stats().Dedicated.Waiting == 1 })
	requireCounts := func(want, got redisconn.DedicatedStats, ready int) {
		t.Helper()
		require.EqualValues(t, ready, got.Wait.Count())
		got.Wait = nil
		require.Equal(t, want, got)
	}
	requireCounts(redisconn.DedicatedStats{Open: 2, Waiting: 1, Connects: 2}, conn.Stats().Dedicated, 2)
	before := conn.Stats()

	cancel()
	requireNotSent(t, conntest.Await(t, "the end", waits), redis.ErrRequestWithdrawn)
	session.SendMany(requests(redis.Req("SET", "k", "v"), redis.Req("INCR", "k")))
	session.Close()
	require.Equal(t, int64(1), client.Do("RPUSH", "list", "x"))
	require.NoError(t, redis.AsError(pop.Wait(t)))
	eventually(t, "both are idle", func() bool { return conn.Stats().Dedicated.Idle == 2 })
	after := conn.Stats()
	requireCounts(redisconn.DedicatedStats{Open: 2, Idle: 2, Values: 2, Refused: 1, NotSent: 1, Connects: 2}, after.Dedicated, 2)
	require.EqualValues(t, 3, after.Opening.Count(), "the shared socket and two dedicated ones")
	require.Equal(t, before.Requests()+1, after.Requests(), "RPUSH alone is of the shared connection")
	after.Merge(after)
	requireCounts(redisconn.DedicatedStats{Open: 4, Idle: 4, Values: 4, Refused: 2, NotSent: 2, Connects: 4}, after.Dedicated, 4)
}

// While callers still wait for blocking commands, Shutdown may use the whole time of its context to
// unblock them.
func TestDedicatedShutdownIsPatient(t *testing.T) {
	virtualtime.Run(t, func(t *testing.T) {
		conn, _ := connectPipes(t, blockingPipes(func([]string) string {
			time.Sleep(10 * time.Second)
			return ""
		}), redisconn.Opts{IOTimeout: time.Minute})
		pop := sendTo(conn, "BLPOP", "list", "0")
		synctest.Wait()
		require.NoError(t, conn.Shutdown(background))
		requireNotSent(t, pop.Wait(t), redis.ErrContextClosed)
	})
}

// Handshakes of dedicated connections do not count as heartbeats of the shared one.
func TestDedicatedHandshakeIsNoHeartbeat(t *testing.T) {
	virtualtime.Run(t, func(t *testing.T) {
		p := &pipes{Answer: func(args []string) string {
			switch {
			case args[0] == "PING":
				return pong(args)
			case args[0] == "CLIENT":
				time.Sleep(100 * time.Millisecond)
				return ":7\r\n"
			}
			return "*-1\r\n"
		}}
		conn, _ := connectPipes(t, p, redisconn.Opts{})
		require.Nil(t, sendTo(conn, "BLPOP", "list", 1).Wait(t))
		require.Zero(t, conn.PingLatency())
	})
}

// If a Dialer ends its goroutine, the request fails and its place in the pool is free again, even
// if its caller has left.
func TestDedicatedDialerEndsGoroutine(t *testing.T) {
	s := testbed.NewServer(t)
	var dials atomic.Int64
	dialing, release := make(chan struct{}), make(chan struct{})
	conn := connect(t, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}, DedicatedConns: 1, IOTimeout: time.Hour,
		Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
			switch dials.Add(1) { // the first dial is for the shared connection
			case 2:
				runtime.Goexit()
			case 3:
				dialing <- struct{}{}
				<-release
				runtime.Goexit()
			}
			return (&net.Dialer{}).DialContext(ctx, network, addr)
		}})
	requireNotSent(t, conntest.Await(t, "the error", doing(t.Context(), conn, "BLPOP", "list", 0)), redisconn.ErrDial)
	ctx, cancel := context.WithCancel(t.Context())
	gone := doing(ctx, conn, "BLPOP", "list", 0)
	conntest.Await(t, "the dial", dialing)
	cancel()
	requireNotSent(t, conntest.Await(t, "the end", gone), redis.ErrRequestWithdrawn)
	close(release)
	require.Nil(t, conntest.Await(t, "the next", doing(t.Context(), conn, "BLPOP", "list", 0.01)))
	require.Zero(t, conn.Pending())
}

// forgetful is a user's connection. Like TLS, it does not report how much of a failed write was
// sent.
type forgetful struct {
	net.Conn
	fails *atomic.Bool
}

func (f forgetful) Write(p []byte) (int, error) {
	n, err := f.Conn.Write(p)
	if f.fails.Load() {
		return 0, errors.New("the write has failed")
	}
	return n, err
}

// With a user's connection it is not known how much of a failed write was sent, so the outcome is
// unknown.
func TestDedicatedWriteOfUsersConnection(t *testing.T) {
	s := testbed.NewServer(t)
	var fails atomic.Bool
	conn := connect(t, s.Addr(), redisconn.Opts{Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
		dialed, err := new(net.Dialer).DialContext(ctx, network, addr)
		return forgetful{dialed, &fails}, err
	}})
	session, err := redis.OpenSession(context.Background(), conn, "")
	require.NoError(t, err)
	defer session.Close()
	require.EqualValues(t, 1, session.Do("INCR", "visits"))
	fails.Store(true)
	requireUnknown(t, session.Do("INCR", "visits"), redis.ErrIO)
	require.Eventually(t, func() bool { return string(s.Do("GET", "visits").([]byte)) == "2" }, 20*time.Second, time.Millisecond)
}

// A connection that was not used for a minute is closed. The other ones stay open.
func TestDedicatedIdleForAMinute(t *testing.T) {
	virtualtime.Run(t, func(t *testing.T) {
		conn, _ := connectPipes(t, &pipes{Answer: func(args []string) string {
			switch args[0] {
			case "PING":
				return pong(args)
			case "RESET": // makes the connection like new
				return "+RESET\r\n"
			}
			return "+OK\r\n"
		}}, redisconn.Opts{})
		var sessions [2]*redis.Session
		for i := range sessions {
			session, err := redis.OpenSession(t.Context(), conn, "")
			require.NoError(t, err)
			sessions[i] = session
		}
		const half = 30 * time.Second
		for _, session := range sessions {
			session.Close()
			time.Sleep(half)
		}
		for _, left := range []int{1, 0} {
			synctest.Wait()
			stats := conn.Stats().Dedicated
			require.Equal(t, left, stats.Open)
			require.Equal(t, left, stats.Idle)
			time.Sleep(half)
		}
	})
}
