package redisconn_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/backend"
	"github.com/joomcode/redispipe/internal/lab/drill"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

// slowServer answers the handshake, and then reads nothing until read is called.
type slowServer struct {
	net.Listener
	conns chan net.Conn
}

func newSlowServer(t *testing.T, config *tls.Config) *slowServer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	if config != nil {
		l = tls.NewListener(l, config)
	}
	s := &slowServer{l, make(chan net.Conn, 100)}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = conn.Close() })
			// This reads exactly the handshake, byte by byte.
			const head, nonce = "*2\r\n$4\r\nPING\r\n$16\r\n", 16
			ping := make([]byte, len(head)+nonce+2)
			if _, err := io.ReadFull(conn, ping); err != nil {
				continue
			}
			_, _ = io.WriteString(conn, bulk(string(ping[len(head):len(head)+nonce])))
			s.conns <- conn
		}
	}()
	return s
}

// begun reads until the client has closed the connection, and counts the requests that began.
// partial is set if the last one is incomplete.
func begun(t *testing.T, conn net.Conn) (requests int, partial bool) {
	t.Helper()
	_ = conn.SetReadDeadline(time.Now().Add(patience))
	in := bufio.NewReader(conn)
	for {
		if _, err := in.Peek(1); err != nil {
			return requests, false
		}
		requests++
		if _, err := readRequest(in); err != nil {
			return requests, true
		}
	}
}

// A request that fails as not sent never reached the server, and every request of which no byte was
// written fails as not sent, no matter where the write broke off.
func TestNotSentIsExact(t *testing.T) {
	for _, size := range []int{200, 1000, 100_000} {
		t.Run(strconv.Itoa(size), func(t *testing.T) {
			drill.Rotate(t)
			s := newSlowServer(t, nil)
			conn := connect(t, s.Addr().String(), redisconn.Opts{
				IOTimeout: time.Minute, Logger: redisconn.NoopLogger{}, NoClientInfo: true, MaxRequests: 1 << 24, MaxBytes: 1 << 30,
			})
			server := <-s.conns
			n := (24 << 20) / (size + 30) // more than the kernel buffers
			value := strings.Repeat("v", size)
			var reqs []redis.Request
			for range n {
				reqs = append(reqs, redis.Req("SET", "key", value))
			}
			got := newOutcomes(n)
			conn.SendMany(reqs, got, 0)
			behind := sendTo(conn, "SET", "key", "behind")
			conn.Close()
			results := got.wait(t)
			requireNotSent(t, behind.wait(t), redis.ErrContextClosed)
			received, partial := begun(t, server)
			require.Less(t, received, n, "all was sent")
			for i, res := range results {
				err := redis.AsErrorx(res)
				if err == nil || err.HasTrait(redis.ErrTraitNotSent) != (i >= received) || err.IsOfType(redis.ErrIO) != (i < received) {
					t.Fatalf("request %d of %d, %d received, the last in part: %v: %v", i, n, received, partial, res)
				}
			}
		})
	}
}

// A transaction is sent as a whole or not at all.
func TestNotSentOfTransactions(t *testing.T) {
	s := newSlowServer(t, nil)
	conn := connect(t, s.Addr().String(), redisconn.Opts{IOTimeout: time.Minute, Logger: redisconn.NoopLogger{}, NoClientInfo: true})
	server := <-s.conns
	value := strings.Repeat("v", 20_000)
	results := newOutcomes(1000)
	for i := range 1000 {
		conn.SendTransaction([]redis.Request{redis.Req("SET", "a", value), redis.Req("SET", "b", value)}, results, uint64(i))
	}
	conn.Close()
	all := results.wait(t)
	received, _ := begun(t, server)
	for i, res := range all {
		require.Equal(t, i*4 >= received, redis.AsErrorx(res).HasTrait(redis.ErrTraitNotSent), "transaction %d, %d requests received", i, received)
	}
}

// Over TLS, a failed write does not tell how many bytes were sent, so all requests of the batch are
// unknown.
func TestNotSentOverTLS(t *testing.T) {
	drill.Rotate(t)
	ca, err := testbed.NewCA()
	require.NoError(t, err)
	cert, err := ca.Server()
	require.NoError(t, err)
	s := newSlowServer(t, &tls.Config{Certificates: []tls.Certificate{cert}})
	conn := connect(t, s.Addr().String(), redisconn.Opts{
		IOTimeout: time.Minute, Logger: redisconn.NoopLogger{}, NoClientInfo: true, TLSEnabled: true, TLSConfig: &tls.Config{RootCAs: ca.Pool()},
	})
	server := <-s.conns
	const n = 2000
	var reqs []redis.Request
	for range n {
		reqs = append(reqs, redis.Req("SET", "key", strings.Repeat("v", 16_000)))
	}
	got := newOutcomes(n)
	conn.SendMany(reqs, got, 0)
	// This waits until a writer has taken the batch.
	buffered := bufio.NewReaderSize(server, 1)
	_, err = buffered.Peek(1)
	require.NoError(t, err)
	behind := sendTo(conn, "SET", "key", "behind")
	conn.Close()
	for _, res := range got.wait(t) {
		requireUnknown(t, res, redis.ErrIO)
	}
	requireNotSent(t, behind.wait(t), redis.ErrContextClosed)
}

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
	got.wait(t)
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
	for _, res := range large.wait(t) {
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
	for _, res := range got.wait(t) { // the client does not rely on the number of bytes that the write reports
		if redis.AsError(res) != nil {
			requireUnknown(t, res, redis.ErrIO)
		}
	}
	eventually(t, "disconnected", func() bool { return log.count("Disconnected") == 1 })
	requireType(t, event[redisconn.LogDisconnected](log).Error, redis.ErrIO)
}
