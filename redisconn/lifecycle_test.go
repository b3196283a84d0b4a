package redisconn_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/conntest"
	"github.com/joomcode/redispipe/internal/lab/virtualtime"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
)

// These tests use a fake clock, so they take no time, and times are exact. They don't use
// redis.Sync, because its pooled waiters must not leave the bubble.

var errRefused = errors.New("refused")

func refuse() error { return errRefused }

func TestBackOffGrowsToItsCap(t *testing.T) {
	virtualtime.Run(t, func(t *testing.T) {
		p := &pipes{Refuse: refuse}
		connectPipes(t, p, redisconn.Opts{
			AsyncDial: true, ReconnectPause: time.Second, ReconnectPauseMax: 4 * time.Second,
		})
		time.Sleep(time.Hour)
		synctest.Wait()
		dials := p.Dialed()
		require.Greater(t, len(dials), 3600/4, "it gave up")
		require.Less(t, len(dials), 3600, "it does not back off")
		var longest, total time.Duration
		for i := 1; i < len(dials); i++ {
			pause := dials[i].Sub(dials[i-1])
			bound := min(4*time.Second, time.Second/2<<min(i-1, 10))
			require.LessOrEqual(t, pause, bound, "pause %d", i)
			longest = max(longest, pause)
			total += pause
		}
		// Pauses are drawn from the whole interval, 900 times or more.
		require.Greater(t, longest, 3*time.Second)
		average := total / time.Duration(len(dials)-1)
		require.InDelta(t, 2, average.Seconds(), 0.4, "pauses are not spread")
	})
}

func TestBackOffStartsAnew(t *testing.T) {
	virtualtime.Run(t, func(t *testing.T) {
		var down atomic.Bool
		p := &pipes{Refuse: func() error {
			if down.Load() {
				return errRefused
			}
			return nil
		}}
		conn, log := connectPipes(t, p, redisconn.Opts{ReconnectPause: time.Second, ReconnectPauseMax: 10 * time.Minute})
		down.Store(true)
		_ = p.LastConn().Close()
		time.Sleep(4 * time.Hour)
		down.Store(false)
		time.Sleep(10 * time.Minute)
		require.True(t, conn.ConnectedNow())
		down.Store(true)
		_ = p.LastConn().Close()
		synctest.Wait()
		failed := log.Count("ConnectFailed")
		down.Store(false)
		time.Sleep(time.Second)
		require.Equal(t, failed, log.Count("ConnectFailed"))
		require.True(t, conn.ConnectedNow(), "the pause after the first failure is the shortest again")
	})
}

// With the default options, a client uses a server again half a second after it has come back, no
// matter for how long it was down.
func TestBackInUseSoon(t *testing.T) {
	virtualtime.Run(t, func(t *testing.T) {
		var down atomic.Bool
		p := &pipes{Refuse: func() error {
			if down.Load() {
				return errRefused
			}
			return nil
		}}
		conn, _ := connectPipes(t, p, redisconn.Opts{})
		for range 50 {
			down.Store(true)
			_ = p.LastConn().Close()
			time.Sleep(rand.N(time.Minute))
			down.Store(false)
			time.Sleep(500 * time.Millisecond)
			require.True(t, conn.ConnectedNow())
			time.Sleep(time.Second) // long enough for a useful session
		}
	})
}

// Corrected options are reported before other events, once.
func TestCorrectedOptsAreReportedOnce(t *testing.T) {
	virtualtime.Run(t, func(t *testing.T) {
		p := &pipes{}
		_, log := connectPipes(t, p, redisconn.Opts{DialTimeout: -1})
		_ = p.LastConn().Close()
		time.Sleep(time.Minute)
		require.Equal(t, []string{"OptCorrected", "Connecting", "Connected", "Disconnected", "Connecting", "Connected"}, log.Names())
		require.Equal(t, redisconn.LogOptCorrected{Option: "DialTimeout", Given: time.Duration(-1), Used: time.Second}, conntest.Event[redisconn.LogOptCorrected](log))
	})
}

// If a server accepts and drops connections, the client pauses between two of them.
func TestBackOffFromServerThatDropsConnections(t *testing.T) {
	for _, after := range []time.Duration{time.Millisecond, 20 * time.Millisecond} {
		t.Run(after.String(), func(t *testing.T) {
			virtualtime.Run(t, func(t *testing.T) {
				p := &pipes{}
				started := time.Now()
				p.Answer = func(args []string) string {
					if len(args) > 1 { // a heartbeat
						return "+no\r\n"
					}
					go func(conn net.Conn) {
						time.Sleep(after)
						_ = conn.Close()
					}(p.LastConn())
					return "+PONG\r\n"
				}
				conn, _ := connectPipes(t, p, redisconn.Opts{ReconnectPause: time.Second})
				time.Sleep(10 * time.Second)
				conn.Close()
				time.Sleep(time.Second)
				require.Less(t, len(p.Dialed()), 100, "dials in %v", time.Since(started))
			})
		})
	}
}

func TestNoReconnect(t *testing.T) {
	virtualtime.Run(t, func(t *testing.T) {
		p := &pipes{}
		conn, log := connectPipes(t, p, redisconn.Opts{ReconnectPause: -1})
		require.True(t, conn.ConnectedNow())
		_ = p.LastConn().Close()
		synctest.Wait()
		require.Len(t, p.Dialed(), 1)
		require.Error(t, conn.Ctx().Err())
		require.Equal(t, []string{"Connecting", "Connected", "Disconnected", "ContextClosed"}, log.Names())
		require.EqualError(t, conntest.Event[redisconn.LogContextClosed](log).Error, "the connection was lost, and Opts.ReconnectPause is negative")
		requireNotSent(t, sendTo(conn, "GET", "a").Wait(t), redis.ErrContextClosed)
	})
}

func TestNoReconnectAfterFirstFailure(t *testing.T) {
	virtualtime.Run(t, func(t *testing.T) {
		p := &pipes{Refuse: refuse}
		log := &recorder{}
		_, err := redisconn.Connect(background, "pipe:1", redisconn.Opts{ReconnectPause: -1, Dialer: p.Dial, Logger: log})
		requireNotSent(t, err, redisconn.ErrDial)
		require.ErrorContains(t, err, errRefused.Error())
		synctest.Wait()
		require.Equal(t, []string{"Connecting", "ConnectFailed", "ContextClosed"}, log.Names())
		require.EqualError(t, conntest.Event[redisconn.LogContextClosed](log).Error, "Connect has failed")
	})
}

// A very long pause must not overflow to none.
func TestPausesDoNotOverflow(t *testing.T) {
	const often = 2 * 600 * 1000 / 250 // twice as many as with the default options
	for name, c := range map[string]struct {
		opts redisconn.Opts
		most int
	}{
		"ReconnectPause":    {redisconn.Opts{ReconnectPause: math.MaxInt64}, 10},
		"ReconnectPauseMax": {redisconn.Opts{ReconnectPauseMax: math.MaxInt64}, 100},
		"IOTimeout":         {redisconn.Opts{IOTimeout: math.MaxInt64}, often},
		"DialTimeout":       {redisconn.Opts{DialTimeout: math.MaxInt64, IOTimeout: -1}, often},
	} {
		t.Run(name, func(t *testing.T) {
			virtualtime.Run(t, func(t *testing.T) {
				p := &pipes{Refuse: refuse}
				c.opts.AsyncDial = true
				conn, _ := connectPipes(t, p, c.opts)
				time.Sleep(10 * time.Minute)
				require.Less(t, len(p.Dialed()), c.most)
				require.NoError(t, conn.Ctx().Err(), "it never reconnects")
			})
		})
	}
}

// stuck is a dialer that returns when its context ends.
func stuck(ctx context.Context, _, _ string) (net.Conn, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestCloseWhileDialing(t *testing.T) {
	for name, dialer := range map[string]func(context.Context, string, string) (net.Conn, error){
		"dialing":   stuck,
		"handshake": (&pipes{Answer: func([]string) string { return "" }}).Dial,
	} {
		t.Run(name, func(t *testing.T) {
			virtualtime.Run(t, func(t *testing.T) {
				log := &recorder{}
				conn, err := redisconn.Connect(background, "pipe:1", redisconn.Opts{
					AsyncDial: true, IOTimeout: time.Hour, Dialer: dialer, Logger: log,
				})
				require.NoError(t, err)
				synctest.Wait()
				require.True(t, conn.MayBeConnected())
				require.False(t, conn.ConnectedNow())
				queued := sendTo(conn, "GET", "a")
				synctest.Wait()
				require.Empty(t, queued.Result, "it waits for the connection")
				began := time.Now()
				conn.Close()
				requireNotSent(t, queued.Wait(t), redis.ErrContextClosed)
				require.LessOrEqual(t, time.Since(began), 100*time.Millisecond)
				synctest.Wait()
				names := log.Names()
				require.Equal(t, "ContextClosed", names[len(names)-1])
			})
		})
	}
}

func TestCloseDuringThePause(t *testing.T) {
	virtualtime.Run(t, func(t *testing.T) {
		p := &pipes{Refuse: refuse}
		conn, log := connectPipes(t, p, redisconn.Opts{AsyncDial: true, ReconnectPause: 100 * time.Hour})
		require.False(t, conn.MayBeConnected())
		requireNotSent(t, sendTo(conn, "GET", "a").Wait(t), redisconn.ErrNotConnected)
		conn.Close()
		synctest.Wait()
		require.Equal(t, []string{"Connecting", "ConnectFailed", "ContextClosed"}, log.Names())
		require.Len(t, p.Dialed(), 1)
		requireNotSent(t, sendTo(conn, "GET", "a").Wait(t), redis.ErrContextClosed)
		conn.Close()
	})
}

// Requests may be queued while the connection is connecting. If that fails, they end as not sent.
// Otherwise they are written in order.
func TestQueuedWhileConnecting(t *testing.T) {
	virtualtime.Run(t, func(t *testing.T) {
		var down atomic.Bool
		down.Store(true)
		p := &pipes{Refuse: func() error {
			time.Sleep(100 * time.Millisecond)
			if down.Load() {
				return errRefused
			}
			return nil
		}}
		conn, _ := connectPipes(t, p, redisconn.Opts{AsyncDial: true, ReconnectPause: time.Second})
		doomed := sendTo(conn, "GET", "a")
		err := requireNotSent(t, doomed.Wait(t), redisconn.ErrDial)
		require.ErrorContains(t, err, errRefused.Error())
		down.Store(false)
		for !conn.MayBeConnected() {
			time.Sleep(10 * time.Millisecond)
		}
		require.False(t, conn.ConnectedNow())
		all := newOutcomes(3)
		for i := range 3 {
			conn.Send(redis.Req("GET", i), all, uint64(i))
		}
		require.Equal(t, []any{"OK", "OK", "OK"}, all.Wait(t))
		require.Equal(t, []uint64{0, 1, 2}, all.Order())
	})
}

// A proxy that closes the connection at each request of one kind holds up others for short pauses only.
func TestPausesAreShortBehindProxies(t *testing.T) {
	virtualtime.Run(t, func(t *testing.T) {
		p := &pipes{Greet: func(args []string) string {
			if len(args) > 1 {
				return "close"
			}
			return pong(args)
		}, Answer: func(args []string) string {
			if args[0] != "PING" {
				return "close"
			}
			return pong(args)
		}}
		const longest = time.Hour
		conn, log := connectPipes(t, p, redisconn.Opts{ReconnectPause: longest, Heartbeat: -1})
		require.Equal(t, 1, log.Count("PeerLimited"))
		for range 30 {
			requireUnknown(t, sendTo(conn, "SCAN", 0).Wait(t), redis.ErrIO)
			asked := time.Now()
			for !conn.ConnectedNow() {
				time.Sleep(time.Second)
			}
			require.LessOrEqual(t, time.Since(asked), longest/32+time.Second)
		}
	})
}
