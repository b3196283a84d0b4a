package engine_test

import (
	"context"
	"net"
	"runtime"
	"strings"
	"sync"
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
)

// Requests that are cancelled before they are written are not written.
func TestCancelledFuturesAreDropped(t *testing.T) {
	s := chaos.NewScripted(t, chaos.ScriptedOpts{})
	conn, ready := conntest.SlowDial(t, s.Addr(), redisconn.Opts{})
	kept1, dropped, asked, kept2 := sendTo(conn, "KEPT", 1), sendTo(conn, "DROPPED"), newOutcome(), newOutcome()
	conn.SendAsk(redis.Req("DROPPED"), asked, 0, true)
	many := newOutcomes(2)
	conn.SendMany([]redis.Request{redis.Req("DROPPED"), redis.Req("DROPPED")}, many, 0)
	conn.Send(redis.Req("KEPT", 2), kept2, 0)
	dropped.Cancel()
	many.Cancel()
	early := newOutcome()
	early.Cancel()
	conn.Send(redis.Req("DROPPED"), early, 0)
	requireNotSent(t, early.Wait(t), redis.ErrRequestWithdrawn)
	ready()
	require.Equal(t, "OK", kept1.Wait(t))
	require.Equal(t, "OK", kept2.Wait(t))
	requireNotSent(t, dropped.Wait(t), redis.ErrRequestWithdrawn)
	for _, res := range many.Wait(t) {
		requireNotSent(t, res, redis.ErrRequestWithdrawn)
	}
	require.Equal(t, "OK", asked.Wait(t))
	var said []string
	for _, r := range s.Requests() {
		if r.Cmd != "PING" {
			said = append(said, strings.Join(append([]string{r.Cmd}, r.Args...), " "))
		}
	}
	require.Equal(t, []string{"KEPT 1", "ASKING", "DROPPED", "KEPT 2"}, said)
}

// ASKING applies to the next request, so if that request is removed, ASKING must be removed, too.
func TestCancelledAfterAsking(t *testing.T) {
	s := chaos.NewScripted(t, chaos.ScriptedOpts{})
	conn, ready := conntest.SlowDial(t, s.Addr(), redisconn.Opts{})
	one, many := newOutcome(), newOutcomes(2)
	conn.SendAsk(redis.Req("ONE"), one, 0, true)
	conn.SendBatchFlags([]redis.Request{redis.Req("TWO"), redis.Req("THREE")}, many, 0, redisconn.DoAsking)
	last := sendTo(conn, "LAST")
	one.Cancel()
	many.Cancel()
	ready()
	require.Equal(t, "OK", last.Wait(t))
	asking := false
	for _, r := range s.Requests() {
		if r.Cmd == "PING" {
			continue
		}
		if asking {
			require.Contains(t, []string{"ONE", "TWO"}, r.Cmd, "ASKING was for another request")
		}
		asking = r.Cmd == "ASKING"
	}
}

// The future of a cancelled request may panic, block or end its goroutine when it is resolved. The
// connection continues.
func TestCancelledFuturesThatMisbehave(t *testing.T) {
	block := make(chan struct{})
	defer close(block)
	for name, f := range map[string]func(){
		"panics": func() { panic("on purpose") },
		"exits":  runtime.Goexit,
		"blocks": func() { <-block },
	} {
		t.Run(name, func(t *testing.T) {
			s := chaos.NewScripted(t, chaos.ScriptedOpts{})
			conn, ready := conntest.SlowDial(t, s.Addr(), redisconn.Opts{})
			bad := &misbehaving{f: f}
			kept := sendTo(conn, "KEPT")
			conn.Send(redis.Req("DROPPED"), bad, 0)
			bad.cancelled.Store(true)
			ready()
			require.Equal(t, "OK", kept.Wait(t))
			for range 100 {
				require.Equal(t, "OK", sendTo(conn, "MORE").Wait(t))
			}
			inFlight := sendTo(conn, "MORE")
			conn.Close()
			inFlight.Wait(t)
		})
	}
}

type misbehaving struct {
	cancelled atomic.Bool
	f         func()
}

// Resolve implements redis.Future.
func (m *misbehaving) Resolve(any, uint64) { m.f() }

// Cancelled implements redis.Future.
func (m *misbehaving) Cancelled() error {
	if m.cancelled.Load() {
		return context.Canceled
	}
	return nil
}

// turning is a future that is cancelled from the second call of Cancelled on, which comes just
// before the write. The second call also calls what.
type turning struct {
	redis.Future
	asked atomic.Int32
	what  func()
}

// Cancelled implements redis.Future.
func (f *turning) Cancelled() error {
	if f.asked.Add(1) == 1 {
		return nil
	}
	f.what()
	return context.Canceled
}

// The writer does not wait while the future of a cancelled request is resolved.
func TestCancelledFuturesHoldNobodyUp(t *testing.T) {
	virtualtime.Run(t, func(t *testing.T) {
		conn, _ := connectPipes(t, &pipes{}, redisconn.Opts{})
		block := make(chan struct{})
		defer close(block)
		began := time.Now()
		conn.Send(redis.Req("DROPPED"), &turning{Future: redis.FuncFuture(func(any, uint64) { <-block }), what: func() {}}, 0)
		synctest.Wait()
		require.Equal(t, "OK", sendTo(conn, "KEPT").Wait(t))
		require.Zero(t, time.Since(began))
	})
}

// If a future's Cancelled method ends its goroutine, that is neither the goroutine of another
// caller in the same batch, nor the connection's own goroutine that sends heartbeats.
func TestCancelledThatExitsEndsNobodyElse(t *testing.T) {
	s := chaos.NewScripted(t, chaos.ScriptedOpts{})
	conn := connect(t, s.Addr(), redisconn.Opts{Heartbeat: 10 * time.Millisecond, Logger: redisconn.NoopLogger{}})
	const callers, each = 8, 200
	var returned atomic.Int64
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for range each {
				exits := newOutcome()
				conn.Send(redis.Req("EXITS"), &turning{Future: exits, what: runtime.Goexit}, 0)
				require.Equal(t, "OK", exits.Wait(t), "it counts as not cancelled")
			}
		})
		all.Go(func() {
			for range each {
				redis.Sync{S: conn}.Do("MORE")
				returned.Add(1)
			}
		})
	}
	all.Wait()
	require.EqualValues(t, callers*each, returned.Load())
	conn.Close()
	requireNoneLeft(t)
}

// If a future's Cancelled method ends its goroutine, no request is lost, no matter who writes: a
// sender, the writer goroutine, or a caller that reads its own reply.
func TestCancelledThatExits(t *testing.T) {
	s := chaos.NewScripted(t, chaos.ScriptedOpts{})
	for name, dial := range map[string]func(context.Context, string, string) (net.Conn, error){
		"caller": nil,
		"writer": func(ctx context.Context, network, addr string) (net.Conn, error) {
			socket, err := (&net.Dialer{}).DialContext(ctx, network, addr)
			return &conntest.Socket{Conn: socket}, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			conn := connect(t, s.Addr(), redisconn.Opts{IOTimeout: time.Minute, Dialer: dial, Logger: redisconn.NoopLogger{}})
			for range 20 {
				exits := newOutcome()
				go conn.Send(redis.Req("EXITS"), &turning{Future: exits, what: runtime.Goexit}, 0)
				require.Equal(t, "OK", exits.Wait(t), "it counts as not cancelled")
				require.Equal(t, "OK", sendTo(conn, "MORE").Wait(t))
			}
			require.Equal(t, 1, s.Accepted())
			conn.Close()
			requireNoneLeft(t)
		})
		s = chaos.NewScripted(t, chaos.ScriptedOpts{})
	}
}
