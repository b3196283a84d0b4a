package engine_test

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/joomcode/redispipe/internal/lab/drill"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

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
				if err := redis.AsErrorx(o.Wait(t)); err != nil && !err.HasTrait(redis.ErrTraitConnectivity) {
					t.Errorf("%v", err)
				}
			}
		})
	}
	for lost := 1; lost <= 200; lost++ {
		mu.Lock()
		_ = socket.Close()
		mu.Unlock()
		eventually(t, "connected again", func() bool { return log.Count("Disconnected") >= lost && conn.ConnectedNow() })
	}
	stop.Store(true)
	wg.Wait()
	eventually(t, "it lives", func() bool { return conn.Ping() == nil })
	eventually(t, "told", func() bool { return log.Count("Connected") == log.Count("Disconnected")+1 })
}
