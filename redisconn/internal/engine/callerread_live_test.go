package engine_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
	"github.com/joomcode/redispipe/testbed"
)

func TestCallerReadsUntilItsContextEnds(t *testing.T) {
	arrived, release := make(chan struct{}), make(chan struct{})
	s := chaos.NewScripted(t, chaos.ScriptedOpts{Handler: func(c *chaos.ScriptedConn, r chaos.ScriptedRequest) error {
		if r.Cmd == "INCR" {
			arrived <- struct{}{}
			select {
			case <-release:
			case <-c.Done():
			}
		}
		return chaos.ScriptedEcho(c, r)
	}})
	conn := lone(t, s.Addr(), redisconn.Opts{IOTimeout: time.Minute})
	for range 3 {
		ctx, cancel := context.WithCancel(context.Background())
		go func() { <-arrived; cancel() }()
		err := requireUnknown(t, redis.SyncCtx{S: conn}.Do(ctx, "INCR", "abandoned"), redis.ErrRequestCancelled)
		require.ErrorIs(t, err.Cause(), context.Canceled)
		release <- struct{}{}
		require.Equal(t, []byte("x"), redis.Sync{S: conn}.Do("ECHO", "x"))
	}
	require.Equal(t, 1, s.Accepted())
}

// If a reply comes in pieces, its caller still returns when its context ends, even if the reply
// does not fit into the first buffer.
func TestReadingCallerIsNotHeldByPieces(t *testing.T) {
	value := strings.Repeat("v", 10_000)
	begun, release := make(chan struct{}, 2), make(chan struct{})
	s := chaos.NewScripted(t, chaos.ScriptedOpts{Handler: func(c *chaos.ScriptedConn, r chaos.ScriptedRequest) error {
		if r.Cmd != "PIECES" {
			_, err := c.Write([]byte("+OK\r\n"))
			return err
		}
		if _, err := c.Write([]byte("$10000\r\n" + value[:6000])); err != nil {
			return err
		}
		begun <- struct{}{}
		<-release
		_, err := c.Write([]byte(value[6000:] + "\r\n"))
		return err
	}})
	conn := lone(t, s.Addr(), redisconn.Opts{IOTimeout: time.Minute})
	ctx, cancel := context.WithCancel(context.Background())
	go func() { <-begun; cancel() }()
	requireUnknown(t, redis.SyncCtx{S: conn}.Do(ctx, "PIECES"), redis.ErrRequestCancelled)
	close(release)
	require.Equal(t, "OK", redis.Sync{S: conn}.Do("NEXT"))
	require.Equal(t, []byte(value), redis.Sync{S: conn}.Do("PIECES"))
}

func TestCallersReadByTurns(t *testing.T) {
	s := testbed.NewServer(t)
	conn := lone(t, s.Addr(), redisconn.Opts{})
	sender := redis.SyncCtx{S: conn}
	for round := range 30 {
		var wg sync.WaitGroup
		for g := range 1 + round%4*3 {
			wg.Go(func() {
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				for i := range 50 {
					want := fmt.Sprintf("%d-%d-%d", round, g, i)
					var got string
					if err := sender.DoInto(ctx, &got, "ECHO", want); err != nil || got != want {
						t.Errorf("ECHO %s: %q, %v", want, got, err)
						return
					}
				}
			})
		}
		wg.Wait()
	}
}

// nesting sends another request, and waits for it, before its Send, SendMany or SendTransaction
// returns.
type nesting struct{ *redisconn.Connection }

func (n nesting) ping() { _ = redis.Sync{S: n.Connection}.Do("PING") }

func (n nesting) Send(r redis.Request, cb redis.Future, i uint64) {
	n.Connection.Send(r, cb, i)
	n.ping()
}

func (n nesting) SendMany(reqs []redis.Request, cb redis.Future, start uint64) {
	n.Connection.SendMany(reqs, cb, start)
	n.ping()
}

func (n nesting) SendTransaction(reqs []redis.Request, cb redis.Future, start uint64) {
	n.Connection.SendTransaction(reqs, cb, start)
	n.ping()
}

// A caller gets the right to read only after its Sender has returned, because until then it can't
// read.
func TestSenderThatWaits(t *testing.T) {
	s := testbed.NewServer(t)
	conn := lone(t, s.Addr(), redisconn.Opts{IOTimeout: time.Minute})
	sender := redis.Sync{S: nesting{conn}}
	one := []redis.Request{redis.Req("GET", "key")}
	for name, do := range map[string]func(){
		"Do":              func() { _ = sender.Do("GET", "key") },
		"SendMany":        func() { _ = sender.SendMany(one) },
		"SendTransaction": func() { _, _ = sender.SendTransaction(one) },
	} {
		t.Run(name, func(t *testing.T) {
			done := make(chan struct{})
			go func() {
				defer close(done)
				for range 20 {
					do()
				}
			}()
			select {
			case <-done:
			case <-time.After(patience):
				t.Fatal("nobody reads")
			}
		})
	}
}

// A lone caller reads its own reply with TLS, too.
func TestLoneCallerReadsTLS(t *testing.T) {
	ca, err := testbed.NewCA()
	require.NoError(t, err)
	cert, err := ca.Server()
	require.NoError(t, err)
	addr := straying(t, &tls.Config{Certificates: []tls.Certificate{cert}})
	conn := lone(t, addr, redisconn.Opts{TLSEnabled: true, TLSConfig: &tls.Config{RootCAs: ca.Pool(), ServerName: "127.0.0.1"}})
	eventually(t, "nobody reads", func() bool {
		_ = redis.Sync{S: conn}.Do("GET", "key")
		return readerRests(conn)
	})
}

// scriptedCaller is a caller that reads when the test tells it to.
type scriptedCaller struct {
	*outcome
	right   chan send.ReadRight
	resolve func()
}

func newScriptedCaller() *scriptedCaller {
	return &scriptedCaller{outcome: newOutcome(), right: make(chan send.ReadRight, 1)}
}

func (c *scriptedCaller) Caller() send.Caller { return c }
func (c *scriptedCaller) Listen() bool        { return false }
func (c *scriptedCaller) Waits() bool         { return true }
func (c *scriptedCaller) Touch() int          { return 0 }

func (c *scriptedCaller) GiveRead(r send.ReadRight) bool {
	select {
	case c.right <- r:
		return true
	default:
		return false
	}
}

func (c *scriptedCaller) Resolve(res any, n uint64) {
	c.outcome.Resolve(res, n)
	if c.resolve != nil {
		c.resolve()
	}
}

// callReading sends a request whose caller is given both rights.
func callReading(t *testing.T, conn *redisconn.Connection) (*scriptedCaller, send.ReadRight) {
	t.Helper()
	for range 1000 {
		eventually(t, "nobody reads", func() bool {
			_ = redis.Sync{S: conn}.Do("PING")
			return readerRests(conn)
		})
		c := newScriptedCaller()
		conn.Send(redis.Req("ECHO", "x"), c, 0)
		if len(c.right) == 1 {
			r := <-c.right
			c.right <- r // so that the caller does not get the right again
			return c, r
		}
		c.Wait(t) // the reader goroutine has just taken the right to read: try again
	}
	t.Fatal("it is never given the rights")
	return nil, send.ReadRight{}
}

// Code that runs when a reply is resolved may panic, such as a cluster's. Then the caller that
// reads survives, and the reader goroutine takes over.
func TestCallerReadPanics(t *testing.T) {
	s := testbed.NewServer(t)
	for name, end := range map[string]func(){
		"panic": func() { panic("resolving") },
		"exit":  runtime.Goexit,
	} {
		t.Run(name, func(t *testing.T) {
			log := &recorder{}
			conn := connect(t, s.Addr(), redisconn.Opts{IOTimeout: time.Minute, Logger: log})
			c, r := callReading(t, conn)
			c.resolve = end
			passed := make(chan bool, 1)
			go func() {
				defer close(passed)
				passed <- r.Reader.ReadUntil(background, r.Last, false)
			}()
			require.Equal(t, name == "panic", <-passed)
			require.Equal(t, []byte("x"), c.Wait(t))
			require.Equal(t, "PONG", redis.Sync{S: conn}.Do("PING"))
			require.Equal(t, name == "panic", log.Count("FuturePanic") == 1)
			require.Zero(t, log.Count("Disconnected"))
		})
	}
}

// exiting is a future whose Cancelled method ends the goroutine.
type exiting struct {
	*outcome
	armed *atomic.Bool
}

func (e exiting) Cancelled() error {
	if e.armed.Load() {
		runtime.Goexit()
	}
	return nil
}

// A caller that leaves before it has written passes on both rights, even if a future ends its
// goroutine.
func TestCallerGoesBeforeItWrites(t *testing.T) {
	s := testbed.NewServer(t)
	for _, exits := range []bool{false, true} {
		conn := lone(t, s.Addr(), redisconn.Opts{IOTimeout: time.Minute})
		c, r := callReading(t, conn)
		e := exiting{newOutcome(), &atomic.Bool{}}
		conn.Send(redis.Req("ECHO", "y"), e, 0)
		e.armed.Store(exits)
		done := make(chan struct{})
		go func() {
			defer close(done)
			r.Reader.PassRead()
		}()
		<-done
		require.Equal(t, []byte("x"), c.Wait(t))
		require.Equal(t, []byte("y"), e.Wait(t))
	}
}

// placedFuture is a user's future. It records whether a reading caller resolves it.
type placedFuture struct {
	wg     *sync.WaitGroup
	inRead *atomic.Int64 // how often a reading caller resolved it
}

func (f placedFuture) Cancelled() error {
	time.Sleep(time.Microsecond) // so that other goroutines run while the future is asked
	return nil
}

func (f placedFuture) Resolve(any, uint64) {
	defer f.wg.Done()
	var pcs [32]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs[:])])
	for {
		frame, more := frames.Next()
		if strings.HasSuffix(frame.Function, ".ReadUntil") {
			f.inRead.Add(1)
		}
		if !more {
			return
		}
	}
}

// No caller resolves a user's future, no matter who gets the right to read.
func TestNoCallerResolvesAUsersFuture(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	conn := connect(t, testbed.NewServer(t).Addr(), redisconn.Opts{IOTimeout: time.Minute, Logger: redisconn.NoopLogger{}})
	var futures, callers sync.WaitGroup
	var inRead atomic.Int64
	var stop atomic.Bool
	for range 6 {
		callers.Go(func() {
			for !stop.Load() {
				if err := redis.AsError(redis.Sync{S: conn}.Do("GET", "key")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 5000 {
		futures.Add(1)
		conn.Send(redis.Req("GET", "key"), placedFuture{&futures, &inRead}, 0)
		runtime.Gosched()
	}
	futures.Wait()
	stop.Store(true)
	callers.Wait()
	require.Zero(t, inRead.Load())
}
