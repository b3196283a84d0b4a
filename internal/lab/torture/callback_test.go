package torture

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/lab/drill"
	"github.com/joomcode/redispipe/internal/lab/oracle"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
	"github.com/joomcode/redispipe/testbed"
)

// T12: Send runs at the same time as the end of the connection, by Close or by its context.
func TestT12SendRacesClose(t *testing.T) {
	server := testbed.NewServer(t)
	for i := range long(60, 20) {
		r := newRig(t, RigOpts{Name: fmt.Sprintf("t12-%d", i), Server: server, Conn: untimed()})
		ctx, cancel := context.WithCancel(context.Background())
		opts := untimed()
		opts.Logger = r.Events
		conn, err := redisconn.Connect(ctx, r.Proxy.Addr(), opts)
		require.NoError(t, err)
		load := r.Load(8, 0)
		load.Sender, load.Window = conn, 16
		run, stop := context.WithCancel(context.Background())
		var wg sync.WaitGroup
		wg.Go(func() { load.Run(run) })
		target := uint64(i * 37)
		require.Eventually(t, func() bool { return r.Ledger.Issued() > target }, patience, 10*time.Microsecond)
		if i%2 == 0 {
			conn.Close()
			conn.Close()
		} else {
			cancel()
		}
		issued := r.Ledger.Issued()
		require.Eventually(t, func() bool { return r.Ledger.Issued() > issued+20 }, patience, 10*time.Microsecond)
		stop()
		wg.Wait()
		cancel()
		report, _, err := r.Judge(patience)
		require.NoError(t, err)
		passes(t, report)
		require.Positive(t, report.Outcomes(oracle.NotSent))
		r.Close()
	}
}

// T12: futures that send, close, block or panic.
func TestT12Callbacks(t *testing.T) {
	drill.Rotate(t)
	server := testbed.NewServer(t)
	echo := func(r *Rig) (redis.Request, uint64) {
		id := r.Ledger.IssueTagged(oracle.IsBulk)
		return redis.Req("ECHO", r.Ledger.Tag(id)), id
	}
	send := func(r *Rig, then func()) {
		req, id := echo(r)
		r.Conn.Send(req, redis.FuncFuture(func(res any, id uint64) {
			r.Ledger.Resolve(res, id)
			then()
		}), id)
	}
	for name, play := range map[string]func(t *testing.T, r *Rig){
		"a chain": func(t *testing.T, r *Rig) {
			done := make(chan struct{})
			var next func(left int)
			next = func(left int) {
				if left == 0 {
					close(done)
					return
				}
				send(r, func() { next(left - 1) })
			}
			next(1000)
			waitFor(t, done)
		},
		"many at once": func(t *testing.T, r *Rig) {
			done := make(chan struct{})
			send(r, func() {
				for range 10_000 {
					send(r, func() {})
				}
				close(done)
			})
			waitFor(t, done)
		},
		"panic": func(t *testing.T, r *Rig) {
			for i := range 100 {
				send(r, func() {
					if i%10 == 3 {
						panic("the callback's own")
					}
				})
			}
			require.Eventually(t, func() bool { return r.Events.Count("LogFuturePanic") == 10 }, patience, time.Millisecond)
			require.Zero(t, r.Events.Count("LogDisconnected"))
		},
		"close": func(t *testing.T, r *Rig) {
			for i := range 100 {
				send(r, func() {
					if i == 50 {
						r.Conn.Close()
						send(r, func() {})
					}
				})
			}
		},
		"close after a panic": func(t *testing.T, r *Rig) {
			for range 100 {
				send(r, func() { defer r.Conn.Close(); panic("and close") })
			}
		},
		"block": func(t *testing.T, r *Rig) {
			release := make(chan struct{})
			send(r, func() { <-release })
			for range 100 {
				send(r, func() {})
			}
			r.Conn.Close() // Close does not wait for the callback
			close(release)
		},
		"block while a server is lost": func(t *testing.T, r *Rig) {
			release := make(chan struct{})
			send(r, func() { <-release })
			r.Proxy.Arm(chaos.Fault{Do: chaos.Reset, At: chaos.Now()})
			for range 100 {
				send(r, func() {})
			}
			close(release)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, RigOpts{Server: server, Conn: untimed()})
			play(t, r)
			report := r.Ledger.Finish(patience)
			passes(t, report)
		})
	}
}

func waitFor(t *testing.T, done <-chan struct{}) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatal("blocked")
	}
}

// T12: a logger calls methods of the connection in every event.
func TestT12LoggerCallsBack(t *testing.T) {
	server := testbed.NewServer(t)
	proxy := chaos.NewProxy(t, server.Addr(), chaos.ProxyOpts{Seed: seed})
	ledger := oracle.NewLedger("logger")
	family := oracle.NewFamily()
	logger := &callingLogger{ledger: ledger}
	opts := untimed()
	opts.Logger = logger
	conn, err := redisconn.Connect(context.Background(), proxy.Addr(), opts)
	require.NoError(t, err)
	for range 5 {
		n := logger.connected.Load()
		proxy.Arm(chaos.Fault{Do: chaos.Reset, At: chaos.Now()})
		require.Eventually(t, func() bool { return logger.connected.Load() > n }, patience, time.Millisecond)
	}
	conn.Close()
	report := ledger.Finish(patience)
	require.Greater(t, ledger.Issued(), uint64(15))
	family.Settle(report, patience, engines...)
	passes(t, report)
}

// callingLogger uses the connection in every event, and calls Close in the last one.
type callingLogger struct {
	redisconn.NoopLogger
	ledger    *oracle.Ledger
	connected atomic.Int64
}

func (l *callingLogger) Report(conn *redisconn.Connection, event redisconn.LogEvent) {
	_, _, _ = conn.ConnectedNow(), conn.RemoteAddr(), conn.String()
	id := l.ledger.IssueTagged(oracle.IsBulk)
	conn.Send(redis.Req("ECHO", l.ledger.Tag(id)), l.ledger, id)
	switch event.(type) {
	case redisconn.LogConnected:
		l.connected.Add(1)
	case redisconn.LogContextClosed:
		conn.Close()
	}
}
