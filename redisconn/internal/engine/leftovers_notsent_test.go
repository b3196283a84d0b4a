package engine_test

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/conntest"
	"github.com/joomcode/redispipe/internal/lab/drill"
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
		if _, err := conntest.ReadRequest(in); err != nil {
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
			results := got.Wait(t)
			requireNotSent(t, behind.Wait(t), redis.ErrContextClosed)
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
	all := results.Wait(t)
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
	for _, res := range got.Wait(t) {
		requireUnknown(t, res, redis.ErrIO)
	}
	requireNotSent(t, behind.Wait(t), redis.ErrContextClosed)
}
