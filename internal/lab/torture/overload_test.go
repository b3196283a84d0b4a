package torture

import (
	"bufio"
	"context"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/lab/oracle"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
	"github.com/joomcode/redispipe/testbed"
)

// slowServer returns a Dialer of a server at the other end of a net.Pipe. The server answers one
// request per interval.
func slowServer(interval time.Duration) func(context.Context, string, string) (net.Conn, error) {
	return func(context.Context, string, string) (net.Conn, error) {
		here, there := net.Pipe()
		received := make(chan string, 1<<16) // stands for the buffers of sockets
		go func() {                          // ends with the pipe
			defer close(received)
			in := bufio.NewReader(there)
			for {
				res, _ := redis.ReadResponse(in)
				args, ok := res.([]any)
				if !ok {
					return
				}
				received <- pipeReply(args)
			}
		}()
		go func() { // ends with the other goroutine
			next := time.Now()
			for reply := range received {
				if now := time.Now(); next.Before(now) {
					next = now // the server was idle
				}
				next = next.Add(interval)
				time.Sleep(time.Until(next))
				_, _ = io.WriteString(there, reply)
			}
		}()
		return here, nil
	}
}

// offer sends requests at a rate for the duration d, each with a deadline and in a separate
// goroutine. It returns how many per second were answered in time.
func offer(conn *redisconn.Connection, ledger *oracle.Ledger, rate float64, d, deadline time.Duration) float64 {
	var wg sync.WaitGroup
	var good atomic.Int64
	begin := time.Now()
	for sent := 0.0; time.Since(begin) < d; time.Sleep(time.Millisecond) {
		for ; sent < time.Since(begin).Seconds()*rate; sent++ {
			wg.Go(func() {
				id := ledger.IssueTagged(oracle.IsBulk)
				ctx, cancel := context.WithTimeout(context.Background(), deadline)
				defer cancel()
				res := redis.SyncCtx{S: conn}.Do(ctx, "ECHO", ledger.Tag(id))
				ledger.Resolve(res, id)
				if redis.AsError(res) == nil {
					good.Add(1)
				}
			})
		}
	}
	wg.Wait()
	return float64(good.Load()) / time.Since(begin).Seconds()
}

// At twice the load that the server can handle, throughput does not drop. The test uses a simulated
// clock, because otherwise it would measure the speed of the machine. It runs in a separate
// process, because pooled objects must not leave or enter a synctest bubble.
func TestOverloadGoodput(t *testing.T) {
	const inBubble = "TORTURE_BUBBLE"
	if os.Getenv(inBubble) == "" {
		out, err := again(t, inBubble).CombinedOutput()
		t.Logf("%s", out)
		require.NoError(t, err)
		return
	}
	synctest.Test(t, func(t *testing.T) {
		const interval, deadline, d = time.Millisecond, 100 * time.Millisecond, 3 * time.Second
		capacity := float64(time.Second / interval)
		ledger := oracle.NewLedger("overload")
		conn, err := redisconn.Connect(t.Context(), "pipe:1", redisconn.Opts{
			Logger: redisconn.NoopLogger{}, NoClientInfo: true, Dialer: slowServer(interval),
		})
		require.NoError(t, err)
		below := offer(conn, ledger, 0.9*capacity, d/2, deadline)
		twice := offer(conn, ledger, 2*capacity, d, deadline)
		t.Logf("capacity %.0f/s; answered in time at 0.9 of it %.0f/s, at twice %.0f/s", capacity, below, twice)
		require.GreaterOrEqual(t, twice, 0.9*below, "goodput at twice the capacity")
		conn.Close()
		report := ledger.Finish(time.Second)
		passes(t, report)
		require.Positive(t, report.Outcomes(oracle.NotSent))
		time.Sleep(time.Minute) // the server notices the end, and has answered everything by then
	})
}

// Shutdown waits for the answers to requests in flight, and refuses later requests.
func TestShutdownUnderLoad(t *testing.T) {
	server := testbed.NewServer(t)
	for i := range long(20, 5) {
		r := newRig(t, RigOpts{Name: t.Name() + string(rune('a'+i)), Server: server, Conn: untimed()})
		load := r.Load(16, 0)
		load.Window = 16
		stop := background(load)
		require.Eventually(t, func() bool { return r.Ledger.Issued() > uint64(i*100) }, patience, 10*time.Microsecond)
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		require.NoError(t, r.Conn.Shutdown(ctx))
		cancel()
		late := r.Ledger.Issued()
		require.Eventually(t, func() bool { return r.Ledger.Issued() > late }, patience, 10*time.Microsecond)
		stop()
		report, _ := judge(t, r)
		require.Zero(t, report.Outcomes(oracle.Unknown), "all that was in flight is answered")
		require.Positive(t, report.Outcomes(oracle.NotSent))
		r.Close()
	}
}

// If the context of Shutdown ends, the remaining requests are counted and resolved.
func TestShutdownOfFrozenServer(t *testing.T) {
	r := newRig(t, RigOpts{Conn: untimed()})
	r.Proxy.Arm(chaos.Fault{Do: chaos.Delay, On: chaos.Replies, At: chaos.Now(), Interval: time.Hour})
	for range 100 {
		id := r.Ledger.IssueTagged(oracle.IsBulk)
		r.Conn.Send(redis.Req("ECHO", r.Ledger.Tag(id)), r.Ledger, id)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	err := r.Conn.Shutdown(ctx)
	require.Error(t, err)
	require.NotNil(t, redis.AsErrorx(err), "%v", err)
	require.Contains(t, err.Error(), "100")
	passes(t, r.Ledger.Finish(patience))
	r.Proxy.Heal()
}
