package engine_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/conntest"
	"github.com/joomcode/redispipe/internal/lab/drill"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redisconn/internal/engine"
	"github.com/joomcode/redispipe/redistest/chaos"
	"github.com/joomcode/redispipe/testbed"
)

// whileItRests calls disturb with lone connections until the reader has rested throughout the given
// number of calls. Only after such a call it calls the check that disturb has returned: a reader
// that does not rest notices the disturbance itself.
func whileItRests(times int, lone func() *redisconn.Connection, disturb func(*redisconn.Connection) (check func())) {
	for times > 0 {
		conn := lone()
		began, rests := time.Now(), readerRests(conn)
		check := disturb(conn)
		rested := rests && time.Since(began) < engine.IdleMost
		conn.Close()
		if rested {
			times--
			check()
		}
	}
}

// The server may close the connection while nobody reads. The next request notices that before it
// is written.
func TestCheckFindsAClosedConnection(t *testing.T) {
	s := testbed.NewServer(t)
	other := connect(t, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
	dial := func() *redisconn.Connection { return lone(t, s.Addr(), redisconn.Opts{IOTimeout: time.Minute}) }
	whileItRests(1, dial, func(conn *redisconn.Connection) func() {
		require.Equal(t, int64(1), redis.Sync{S: other}.Do("CLIENT KILL", "ADDR", conn.LocalAddr(), "SKIPME", "yes"))
		res := redis.Sync{S: conn}.Do("SET", "key", "value")
		return func() { requireNotSent(t, res, redisconn.ErrNotConnected) }
	})
}

// If a stray reply arrives while the reader rests, no request gets it, whether or not the next
// caller reads its own reply.
func TestStrayWhileTheReaderRests(t *testing.T) {
	s := chaos.NewScripted(t, chaos.ScriptedOpts{})
	dial := func() *redisconn.Connection { return lone(t, s.Addr(), redisconn.Opts{IOTimeout: time.Minute}) }
	for name, get := range map[string]func(*redisconn.Connection) any{
		"leads":  func(conn *redisconn.Connection) any { return redis.Sync{S: conn}.Do("GET", "key") },
		"writes": func(conn *redisconn.Connection) any { return sendTo(conn, "GET", "key").Wait(t) },
	} {
		t.Run(name, func(t *testing.T) {
			whileItRests(20, dial, func(conn *redisconn.Connection) func() {
				s.Broadcast([]byte("+STRAY\r\n"))
				res := get(conn)
				return func() { require.NotEqual(t, "STRAY", res) }
			})
		})
	}
}

// endedUnseen is a context that has ended, but whose first call of Err returns nil.
type endedUnseen struct {
	context.Context
	looks atomic.Int32
}

func (c *endedUnseen) Err() error {
	if c.looks.Add(1) == 1 {
		return nil
	}
	return c.Context.Err()
}

// onceDialed is a Dialer with a single socket.
type onceDialed struct{ socket net.Conn }

func (d *onceDialed) dial(ctx context.Context, network, addr string) (_ net.Conn, err error) {
	if d.socket == nil {
		d.socket, err = (&net.Dialer{}).DialContext(ctx, network, addr)
	}
	return d.socket, err
}

// A caller checks the socket before it writes, even if its context ends at that moment and
// interrupts the read before it begins.
func TestCheckThoughInterrupted(t *testing.T) {
	var server atomic.Pointer[chaos.ScriptedConn]
	s := chaos.NewScripted(t, chaos.ScriptedOpts{Handler: func(c *chaos.ScriptedConn, r chaos.ScriptedRequest) error {
		server.Store(c)
		return chaos.ScriptedEcho(c, r)
	}})
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for name, disturb := range map[string]func(){
		"a stray": func() { _, _ = server.Load().Write([]byte("+STRAY\r\n")) },
		"a FIN":   func() { server.Load().Close() },
	} {
		var dialed *onceDialed
		dial := func() *redisconn.Connection {
			dialed = &onceDialed{} // a failed connection may still dial
			return lone(t, s.Addr(), redisconn.Opts{IOTimeout: time.Minute, Dialer: dialed.dial})
		}
		whileItRests(20, dial, func(conn *redisconn.Connection) func() {
			_ = dialed.socket.SetReadDeadline(time.Unix(1, 0)) // as the end of the context will
			disturb()
			sent := s.Requests()
			res := redis.SyncCtx{S: conn}.Do(&endedUnseen{Context: ended}, "GET", "late")
			return func() {
				require.Error(t, redis.AsError(res), name)
				require.Never(t, func() bool { return len(s.Requests()) > len(sent) }, time.Millisecond, 100*time.Microsecond, name)
			}
		})
	}
}

// A deadline that other code has set on the socket does not count as the end of a context.
func TestReadDeadlineOfAnother(t *testing.T) {
	s := testbed.NewServer(t)
	var dialed *onceDialed
	dial := func() *redisconn.Connection {
		dialed = &onceDialed{}
		return lone(t, s.Addr(), redisconn.Opts{IOTimeout: time.Minute, Dialer: dialed.dial})
	}
	whileItRests(1, dial, func(conn *redisconn.Connection) func() {
		require.NoError(t, dialed.socket.SetReadDeadline(time.Unix(1, 0)))
		res := redis.Sync{S: conn}.Do("GET", "key")
		return func() { requireType(t, res, redisconn.ErrNotConnected) }
	})
}

// corked is a connection that holds back written bytes until it is released.
type corked struct {
	net.Conn
	held []byte
	cork bool
}

func (c *corked) Write(p []byte) (int, error) {
	if c.cork {
		c.held = append(c.held, p...)
		return len(p), nil
	}
	return c.Conn.Write(p)
}

func (c *corked) release() {
	_, _ = c.Conn.Write(c.held)
	c.held, c.cork = nil, false
}

// straying answers requests. After its answer to LAST it sends a stray reply: in a separate write,
// so in a separate TLS record, but in the same network segment.
func straying(t *testing.T, config *tls.Config) (addr string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	serve := func(tcp net.Conn) {
		defer tcp.Close()
		cork := &corked{Conn: tcp}
		conn := net.Conn(cork)
		if config != nil {
			conn = tls.Server(cork, config)
		}
		in := bufio.NewReader(conn)
		for {
			args, err := conntest.ReadRequest(in)
			if err != nil {
				return
			}
			reply := "+OK\r\n"
			if args[0] == "PING" {
				reply = pong(args)
			}
			cork.cork = args[0] == "LAST"
			_, _ = io.WriteString(conn, reply)
			if cork.cork {
				_, _ = io.WriteString(conn, "+STRAY\r\n")
				cork.release()
			}
		}
	}
	go func() {
		for {
			tcp, err := l.Accept()
			if err != nil {
				return
			}
			go serve(tcp)
		}
	}()
	return l.Addr().String()
}

// A stray reply may arrive together with the expected one, and be in the client's buffer when
// nobody reads any more. No request gets it.
func TestStrayBehindAReply(t *testing.T) {
	drill.Rotate(t)
	ca, err := testbed.NewCA()
	require.NoError(t, err)
	cert, err := ca.Server()
	require.NoError(t, err)
	for name, opts := range map[string]redisconn.Opts{
		"plain": {},
		"TLS":   {TLSEnabled: true, TLSConfig: &tls.Config{RootCAs: ca.Pool(), ServerName: "127.0.0.1"}},
	} {
		t.Run(name, func(t *testing.T) {
			var config *tls.Config
			if opts.TLSEnabled {
				config = &tls.Config{Certificates: []tls.Certificate{cert}}
			}
			addr := straying(t, config)
			opts.IOTimeout = time.Minute
			for range 50 {
				conn := lone(t, addr, opts)
				require.Equal(t, "OK", redis.Sync{S: conn}.Do("LAST"))
				require.NotEqual(t, "STRAY", redis.Sync{S: conn}.Do("GET", "key"))
				conn.Close()
			}
		})
	}
}

// When a future sends a request, a stray reply may have arrived after the future's own reply. The
// request does not get it.
func TestStrayBehindAReplyToAFuture(t *testing.T) {
	conn := lone(t, straying(t, nil), redisconn.Opts{IOTimeout: time.Minute})
	answer := make(chan any, 1)
	conn.Send(redis.Req("LAST"), redis.FuncFuture(func(any, uint64) {
		conn.Send(redis.Req("GET", "key"), redis.FuncFuture(func(res any, _ uint64) { answer <- res }), 0)
	}), 0)
	require.NotEqual(t, "STRAY", <-answer)
}
