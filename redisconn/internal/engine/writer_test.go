package engine_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/backend"
	"github.com/joomcode/redispipe/internal/conntest"
	"github.com/joomcode/redispipe/internal/lab/drill"
	"github.com/joomcode/redispipe/internal/lab/virtualtime"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

// With TLS, too, Send does not wait for a server that reads nothing, no matter how many batches
// there are.
func TestSendDoesNotWaitOverTLS(t *testing.T) {
	ca, err := testbed.NewCA()
	require.NoError(t, err)
	cert, err := ca.Server()
	require.NoError(t, err)
	s := newSlowServer(t, &tls.Config{Certificates: []tls.Certificate{cert}})
	conn := connect(t, s.Addr().String(), redisconn.Opts{
		IOTimeout: time.Minute, Logger: redisconn.NoopLogger{}, NoClientInfo: true, TLSEnabled: true, TLSConfig: &tls.Config{RootCAs: ca.Pool()},
	})
	const n = 8000 // more than the kernel takes
	got := newOutcomes(n)
	value := strings.Repeat("v", 2000)
	for i := range n {
		conn.Send(redis.Req("SET", "key", value), got, uint64(i))
	}
	conn.Close()
	got.Wait(t)
}

// If the server is frozen, each call returns by its deadline. Requests in flight are abandoned.
// Requests behind a blocked write are withdrawn.
func TestFrozenServer(t *testing.T) {
	s := testbed.NewServer(t)
	conn := connect(t, s.Addr(), redisconn.Opts{IOTimeout: time.Minute, Logger: redisconn.NoopLogger{}})
	require.NoError(t, conn.Ping())
	require.NoError(t, s.Pause())
	ctx, cancel := context.WithCancel(background)
	defer cancel()
	sender := redis.SyncCtx{S: signalling{conn, make(chan struct{}, 100)}}
	do := func(args ...any) chan any {
		res := make(chan any, 1)
		go func() { res <- sender.Do(ctx, "SET", args...) }()
		<-sender.S.(signalling).sent
		return res
	}
	inFlight := do("a", "in flight")
	// The kernel takes some megabytes. Later requests wait.
	large := newOutcomes(40)
	for i := range 40 {
		conn.Send(redis.Req("SET", "b", make([]byte, 1<<20)), large, uint64(i))
	}
	behind := make([]chan any, 50)
	for i := range behind {
		behind[i] = do("c", "behind")
	}
	began := time.Now()
	short, cancelShort := context.WithTimeout(background, 20*time.Millisecond)
	defer cancelShort()
	res := redis.SyncCtx{S: conn}.Do(short, "SET", "d", 1)
	require.Less(t, time.Since(began), 30*time.Second, "it was held")
	require.True(t, redis.AsErrorx(res).HasTrait(redis.ErrTraitNotSent), "%v", res)

	cancel()
	requireUnknown(t, <-inFlight, redis.ErrRequestCancelled)
	for _, res := range behind {
		requireNotSent(t, <-res, redis.ErrRequestWithdrawn)
	}
	require.NoError(t, s.Resume())
	for _, res := range large.Wait(t) {
		require.Equal(t, "OK", res)
	}
	sync := redis.Sync{S: conn}
	require.Equal(t, []byte("in flight"), sync.Do("GET", "a"))
	require.Nil(t, sync.Do("GET", "c"), "it was withdrawn, and it ran")
	require.Nil(t, sync.Do("GET", "d"), "it was withdrawn, and it ran")
}

// signalling is a sender that tells when it has sent a request.
type signalling struct {
	*redisconn.Connection
	sent chan struct{}
}

// SendEncoded is the method that redis.SyncCtx uses to send.
func (s signalling) SendEncoded(r *send.Request, cb redis.Future, n uint64) {
	backend.Of(s.Connection).SendEncoded(r, cb, n)
	s.sent <- struct{}{}
}

func (signalling) WantsSlot() bool { return false }

func (signalling) OpenDedicated(context.Context, []string, error) (send.Dedicated, error) {
	return nil, redis.ErrSession.New("it has no sessions")
}

// Send never blocks, no matter what the server does.
func TestSendDoesNotBlock(t *testing.T) {
	s := newSlowServer(t, nil)
	conn := connect(t, s.Addr().String(), redisconn.Opts{IOTimeout: time.Minute, Logger: redisconn.NoopLogger{}, MaxBytes: 16 << 20, NoClientInfo: true})
	<-s.conns
	sent := make(chan int)
	go func() {
		refused := 0
		for range 100 {
			conn.Send(redis.Req("SET", "a", make([]byte, 1<<20)), redis.FuncFuture(func(res any, _ uint64) {
				if redis.AsErrorx(res).IsOfType(redis.ErrQueueFull) {
					refused++
				}
			}), 0)
		}
		sent <- refused
	}()
	select {
	case refused := <-sent:
		require.NotZero(t, refused, "nothing bounds the queue")
	case <-time.After(patience):
		t.Fatal("Send blocks")
	}
}

// The requests of many goroutines share writes. The server's statistics show how many.
func TestRequestsPerWrite(t *testing.T) {
	drill.Rotate(t)
	s := testbed.NewServer(t)
	reads := func() int {
		res := s.Do("INFO", "stats")
		for line := range strings.SplitSeq(string(res.([]byte)), "\r\n") {
			if value, ok := strings.CutPrefix(line, "total_reads_processed:"); ok {
				n, err := strconv.Atoi(value)
				require.NoError(t, err)
				return n
			}
		}
		t.Fatal("no total_reads_processed")
		return 0
	}
	// perRead sends 20,000 requests from the given number of goroutines. It returns the number of
	// requests for each read of the server.
	perRead := func(goroutines int) float64 {
		conn := connect(t, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
		defer conn.Close()
		sender := redis.Sync{S: conn}
		requests := 20_000 / goroutines
		before := reads()
		var wg sync.WaitGroup
		for range goroutines {
			wg.Go(func() {
				for range requests {
					if err := redis.AsError(sender.Do("SET", "a", 1)); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		return float64(requests*goroutines) / float64(reads()-before)
	}
	// Each limit is at least twice the value that was measured on two busy processors. If client or
	// server do not get a processor for long, requests share fewer writes, so the best of several
	// tries counts.
	for _, c := range []struct {
		goroutines int
		atLeast    float64
	}{{1, 0.9}, {128, 9}, {1000, 36}} {
		best := 0.0
		for try := 0; try < 10 && best < c.atLeast; try++ {
			best = max(best, perRead(c.goroutines))
		}
		t.Logf("%d goroutines: %.1f requests per read", c.goroutines, best)
		require.GreaterOrEqual(t, best, c.atLeast, "%d goroutines", c.goroutines)
	}
}

// brokenConn is a socket whose write breaks off in the middle.
type brokenConn struct {
	net.Conn
	after int
}

func (b *brokenConn) Write(p []byte) (int, error) {
	if b.after < 0 {
		return 0, errors.New("broken before")
	}
	if b.after -= len(p); b.after < 0 {
		n, _ := b.Conn.Write(p[:len(p)+b.after])
		return n, errors.New("broken on purpose")
	}
	return b.Conn.Write(p)
}

func TestFailedWriteOfOtherConnections(t *testing.T) {
	s := testbed.NewServer(t)
	log := &recorder{}
	conn := connect(t, s.Addr(), redisconn.Opts{
		Logger: log, ReconnectPause: -1, NoClientInfo: true,
		Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
			return &brokenConn{conn, 100}, err
		},
	})
	got := newOutcomes(10)
	var reqs []redis.Request
	for i := range 10 {
		reqs = append(reqs, redis.Req("SET", "key", i))
	}
	conn.SendMany(reqs, got, 0)
	for _, res := range got.Wait(t) { // the client does not rely on the number of bytes that the write reports
		if redis.AsError(res) != nil {
			requireUnknown(t, res, redis.ErrIO)
		}
	}
	eventually(t, "disconnected", func() bool { return log.Count("Disconnected") == 1 })
	requireType(t, conntest.Event[redisconn.LogDisconnected](log).Error, redis.ErrIO)
}

// While a future holds up the reader, requests are still written, because the future may wait for
// their effect.
func TestWrittenThoughAFutureHoldsTheReader(t *testing.T) {
	virtualtime.Run(t, func(t *testing.T) {
		arrived := make(chan struct{})
		many := 0
		p := &pipes{Answer: func(args []string) string {
			switch args[0] {
			case "PING":
				return pong(args)
			case "MANY": // the server answers all of them with one write, so that it can continue
				if many++; many < 8 {
					return ""
				}
				return strings.Repeat("+OK\r\n", 8)
			case "RELEASE":
				close(arrived)
			}
			return "+OK\r\n"
		}}
		conn, err := redisconn.Connect(background, "pipe:1", redisconn.Opts{
			IOTimeout: time.Minute, Logger: redisconn.NoopLogger{}, Dialer: p.Dial,
		})
		require.NoError(t, err)
		defer func() {
			conn.Close()
			time.Sleep(time.Hour)
		}()
		began := time.Now()
		held := newOutcomes(8)
		conn.SendMany(slices.Repeat([]redis.Request{redis.Req("MANY")}, 8), redis.FuncFuture(func(res any, n uint64) {
			if n == 3 {
				<-arrived
			}
			held.Resolve(res, n)
		}), 0)
		synctest.Wait()
		released := sendTo(conn, "RELEASE")
		held.Wait(t)
		require.Equal(t, "OK", released.Wait(t))
		require.Zero(t, time.Since(began))
	})
}
