package redisconn_test

import (
	"context"
	"net"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/backend"
	"github.com/joomcode/redispipe/internal/conntest"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
	"github.com/joomcode/redispipe/testbed"
)

// frozen is a server that stops reading at the first SET, until the test thaws it.
type frozen struct {
	pipes
	began, thaw chan struct{}

	mu   sync.Mutex // guards keys
	keys []string   // the keys of the SETs that it has run
}

func newFrozen() *frozen {
	f := &frozen{began: make(chan struct{}), thaw: make(chan struct{})}
	f.Answer = func(args []string) string {
		switch args[0] {
		case "PING":
			return pong(args)
		case "CLIENT":
			if args[1] == "ID" {
				return ":1\r\n"
			}
		case "SET":
			f.mu.Lock()
			defer f.mu.Unlock()
			if len(f.keys) == 0 {
				close(f.began)
				<-f.thaw
			}
			f.keys = append(f.keys, args[1])
		}
		return "+OK\r\n"
	}
	return f
}

// dialTCP is like pipes.dial, but with TCP sockets that have small buffers.
func (f *frozen) dialTCP(t *testing.T) func(context.Context, string, string) (net.Conn, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	go func() { // ends when the listener is closed
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
			go f.Serve(conn)
		}
	}()
	return func(ctx context.Context, network, _ string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, l.Addr().String())
		if err == nil {
			err = conn.(*net.TCPConn).SetWriteBuffer(4 << 10)
		}
		return conn, err
	}
}

// After StopWrites, requests that a frozen server has not read never run, even if the server thaws
// at once.
func TestStopWritesOfAFrozenServer(t *testing.T) {
	for name, tcp := range map[string]bool{"pipe": false, "TCP": true} {
		t.Run(name, func(t *testing.T) {
			f := newFrozen()
			dial := f.Dial
			if tcp {
				dial = f.dialTCP(t)
			}
			conn := connect(t, "127.0.0.1:1", redisconn.Opts{Dialer: dial, Logger: redisconn.NoopLogger{}})
			const requests = 64
			value := strings.Repeat("v", 64<<10)
			outcomes := newOutcomes(requests)
			for i := range requests {
				conn.Send(redis.Req("SET", strconv.Itoa(i), value), outcomes, uint64(i))
				if i == 0 {
					conntest.Await(t, "the first", f.began)
				}
			}
			conntest.Await(t, "the last write", backend.Of(conn).StopWrites())
			close(f.thaw)
			results := outcomes.Wait(t)
			requireNotSent(t, sendTo(conn, "SET", "later", "1").Wait(t), redis.ErrContextClosed)
			conn.Close()
			eventually(t, "the first has run", func() bool { return slices.Contains(f.ran(), "0") })
			ran := f.ran()
			require.NotContains(t, ran, strconv.Itoa(requests-1))
			notSent := func(i int) bool {
				err := redis.AsErrorx(results[i])
				return err != nil && err.HasTrait(redis.ErrTraitNotSent)
			}
			require.True(t, notSent(requests-1), "%v", results[requests-1])
			for i := range requests {
				require.False(t, notSent(i) && slices.Contains(ran, strconv.Itoa(i)), "%d: %v", i, results[i])
			}
		})
	}
}

func (f *frozen) ran() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.keys)
}

// After StopWrites, requests in flight still get their replies. Shutdown unblocks blocking
// commands.
func TestStopWritesAwaitsReplies(t *testing.T) {
	s := testbed.NewServer(t)
	conn := connect(t, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
	admin := redis.Sync{S: connect(t, s.Addr(), quiet)}
	blocks := sendTo(conn, "BLPOP", "list", 0)
	blocked(t, admin, 1)
	require.Equal(t, "OK", admin.Do("CLIENT", "PAUSE", 60000, "WRITE"))
	waits := sendTo(conn, "SET", "a", "1")
	eventually(t, "it is held back", func() bool { return strings.Contains(strings.Join(listed(t, admin), ""), "cmd=set") })
	conntest.Await(t, "the last write", backend.Of(conn).StopWrites())
	requireNotSent(t, sendTo(conn, "SET", "b", "1").Wait(t), redis.ErrContextClosed)
	ended := make(chan error, 1)
	go func() { ended <- conn.Shutdown(background) }()
	require.Equal(t, "OK", admin.Do("CLIENT", "UNPAUSE"))
	require.Equal(t, "OK", waits.Wait(t))
	requireNotSent(t, blocks.Wait(t), redis.ErrContextClosed)
	require.NoError(t, conntest.Await(t, "Shutdown", ended))
	require.Nil(t, admin.Do("GET", "b"))
}

// After StopWrites, a session writes nothing more, and its write that waits for the socket fails.
func TestStopWritesOfSessions(t *testing.T) {
	s := testbed.NewServer(t)
	for _, req := range []redis.Request{redis.Req("SET", "a", "1"), redis.Req("BLPOP", "a", 0)} {
		conn := connect(t, s.Addr(), quiet)
		session, err := redis.OpenSession(t.Context(), conn, "")
		require.NoError(t, err)
		conntest.Await(t, "the last write", backend.Of(conn).StopWrites())
		requireNotSent(t, session.Do(req.Cmd, req.Args...), redisconn.ErrNotConnected)
		session.Close()
	}
	require.Nil(t, s.Do("GET", "a"))

	f := newFrozen()
	conn := connect(t, "127.0.0.1:1", redisconn.Opts{Dialer: f.Dial, IOTimeout: -1, Logger: redisconn.NoopLogger{}})
	session, err := redis.OpenSession(t.Context(), conn, "")
	require.NoError(t, err)
	ended := make(chan any, 1)
	go func() {
		ended <- session.SendMany([]redis.Request{
			redis.Req("SET", "a", "1"), redis.Req("SET", "b", strings.Repeat("v", 1<<20)),
		})[1]
	}()
	conntest.Await(t, "the first", f.began)
	conntest.Await(t, "the last write", backend.Of(conn).StopWrites())
	requireUnknown(t, conntest.Await(t, "the session", ended), redis.ErrIO)
	close(f.thaw)
	session.Close()
	conn.Close()
	require.NotContains(t, f.ran(), "b")
}

// blockingFuture blocks in Cancelled until the test releases it.
type blockingFuture struct {
	*outcome
	asks chan struct{} // receives a value each time that Cancelled is called
	say  chan struct{}
}

func (f *blockingFuture) Cancelled() error {
	f.asks <- struct{}{}
	<-f.say
	return nil
}

// If a goroutine is just about to write when writes are stopped, the session continues, and all
// requests in flight get their replies.
func TestStopWritesBeforeAWriteBegins(t *testing.T) {
	arrived, release := make(chan struct{}, 2), make(chan struct{})
	s := chaos.NewScripted(t, chaos.ScriptedOpts{Handler: func(c *chaos.ScriptedConn, r chaos.ScriptedRequest) error {
		arrived <- struct{}{}
		select {
		case <-release:
		case <-c.Done():
		}
		return chaos.ScriptedEcho(c, r)
	}})
	conn := connect(t, s.Addr(), redisconn.Opts{IOTimeout: -1, Logger: redisconn.NoopLogger{}})
	waits := sendTo(conn, "ECHO", "in flight")
	conntest.Await(t, "it is in flight", arrived)
	f := &blockingFuture{outcome: newOutcome(), asks: make(chan struct{}, 9), say: make(chan struct{})}
	go conn.Send(redis.Req("SET", "a", "1"), f, 0)
	conntest.Await(t, "it is asked before it is queued", f.asks)
	f.say <- struct{}{}
	conntest.Await(t, "it is asked before it is written", f.asks)
	stopped := backend.Of(conn).StopWrites()
	close(f.say)
	conntest.Await(t, "the last write", stopped)
	close(release)
	require.Equal(t, []byte("in flight"), waits.Wait(t))
	require.Equal(t, "OK", f.Wait(t))
}

// givenCaller is a caller that does not begin to read until the test tells it to.
type givenCaller struct {
	*outcome
	given chan send.ReadRight
}

func (c *givenCaller) Caller() send.Caller { return c }
func (c *givenCaller) Listen() bool        { return false }
func (c *givenCaller) Waits() bool         { return true }
func (c *givenCaller) Touch() int          { return 0 }
func (c *givenCaller) GiveRead(r send.ReadRight) bool {
	c.given <- r
	return true
}

// StopWrites takes back the request of a caller that has both rights but has not written. The
// caller does not wait for a reply.
func TestStopWritesLetsACallerGo(t *testing.T) {
	conn := connect(t, testbed.NewServer(t).Addr(), redisconn.Opts{IOTimeout: -1, ScriptMode: true})
	var c *givenCaller
	var right send.ReadRight
	eventually(t, "a caller is given the right to read", func() bool {
		c = &givenCaller{newOutcome(), make(chan send.ReadRight, 1)}
		conn.Send(redis.Req("SET", "a", "1"), c, 0)
		select {
		case right = <-c.given:
			return true
		case <-c.Result: // the loop had the right to read
			redis.Sync{S: conn}.Do("GET", "a")
			return false
		}
	})
	stopped := backend.Of(conn).StopWrites()
	requireNotSent(t, c.Wait(t), redis.ErrContextClosed)
	done := make(chan struct{})
	go func() {
		defer close(done)
		right.Reader.ReadUntil(context.Background(), right.Last, false)
	}()
	conntest.Await(t, "the caller", done)
	conntest.Await(t, "the last write", stopped)
}

// The session continues if the library sends its own requests after writes were stopped.
func TestStopWritesBesideOwnRequests(t *testing.T) {
	s := testbed.NewServer(t)
	for done := 0; done < 100; {
		conn, err := redisconn.Connect(t.Context(), s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}, IOTimeout: -1, DialTimeout: patience})
		require.NoError(t, err)
		waits := sendTo(conn, "EVAL", "local n = 0 for i = 1, 300000 do n = n + i end return 'done'", 0)
		stop := make(chan struct{})
		var senders sync.WaitGroup
		senders.Go(func() {
			for i := uint64(0); ; i++ {
				select {
				case <-stop:
					return
				default:
					conn.Send(redis.Req("SET", "a", "1"), nil, 0)
					runtime.Gosched() // on one processor, other goroutines would otherwise run only after 10 ms
				}
			}
		})
		own := newOutcomes(20)
		for i := range 20 {
			conn.Send(redis.Req("PING"), send.Internal(own.Resolve), uint64(i))
		}
		stopped := backend.Of(conn).StopWrites()
		for range 20 {
			conn.Send(redis.Req("PING"), send.Internal(func(any, uint64) {}), 0)
		}
		conntest.Await(t, "the last write", stopped)
		if res := waits.Wait(t); redis.OutcomeOf(res) == redis.OutcomeNotSent {
			requireNotSent(t, res, redis.ErrContextClosed) // it was not written yet
		} else {
			require.Equal(t, []byte("done"), res)
			done++
		}
		close(stop)
		senders.Wait()
		conn.Close()
	}
}

// After StopWrites, a blocking command is not sent to the server, which was replaced.
func TestStopWritesOfBlockingCommands(t *testing.T) {
	s := testbed.NewServer(t)
	conn := connect(t, s.Addr(), quiet)
	require.NoError(t, redis.AsError(redis.Sync{S: conn}.Do("RPUSH", "list", "a")))
	conntest.Await(t, "the last write", backend.Of(conn).StopWrites())
	requireNotSent(t, sendTo(conn, "BLMOVE", "list", "other", "LEFT", "LEFT", 0).Wait(t), redis.ErrContextClosed)
	require.Equal(t, int64(1), s.Do("LLEN", "list"))
}
