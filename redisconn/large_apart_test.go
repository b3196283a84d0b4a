package redisconn_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/conntest"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
)

// lasting are options with which a connection stays up while a test holds back answers.
var lasting = redisconn.Opts{Logger: redisconn.NoopLogger{}, IOTimeout: patience, Heartbeat: -1}

// apartServer holds back PING and INFO on the shared connection, and GET on the others, while a channel is there.
// Each connection belongs to one of two processes, which have different values.
type apartServer struct {
	*chaos.ScriptedServer
	ping, get   atomic.Pointer[chan struct{}]
	pings, gets atomic.Int64 // that have arrived
	infos       atomic.Int64 // on the shared connection
	cuts        atomic.Bool  // close the connection instead of sending the answers that were held back
	later       atomic.Int64 // the first connection that leads to the later process
	shared      atomic.Pointer[chaos.ScriptedConn]
}

// processOf returns the process of a connection: 0, or 1 for the later one.
func (s *apartServer) processOf(conn int) int {
	if later := s.later.Load(); later > 0 && conn >= int(later) {
		return 1
	}
	return 0
}

// restart resets the shared connection. All new connections lead to the later process.
func (s *apartServer) restart(t *testing.T, conn *redisconn.Connection) {
	connects := conn.Stats().Connects
	s.later.Store(int64(s.Accepted() + 1))
	s.shared.Load().Reset()
	eventually(t, "connected again", func() bool { return conn.Stats().Connects > connects })
}

func newApartServer(t *testing.T) *apartServer {
	s := &apartServer{}
	s.ScriptedServer = chaos.NewScripted(t, chaos.ScriptedOpts{Raw: true, Handler: func(c *chaos.ScriptedConn, r chaos.ScriptedRequest) error {
		hold, reply := (*chan struct{})(nil), "+OK\r\n"
		s.shared.CompareAndSwap(nil, c)
		isShared := s.shared.Load() == c || s.processOf(r.Conn) == 1
		switch r.Cmd {
		case "INFO":
			if reply = chaos.ScriptedBulk(fmt.Sprintf("run_id:%040d\r\n", s.processOf(r.Conn))); isShared {
				s.infos.Add(1)
				hold = s.ping.Load()
			}
		case "CLIENT":
			if r.Args[0] == "ID" {
				reply = ":1\r\n"
			}
		case "PING":
			if len(r.Args) > 0 { // a heartbeat
				reply = chaos.ScriptedBulk(r.Args[0])
				break
			}
			s.pings.Add(1)
			hold, reply = s.ping.Load(), "+PONG\r\n"
		case "GET":
			s.gets.Add(1)
			if reply = chaos.ScriptedBulk(values[s.processOf(r.Conn)]); !isShared {
				hold = s.get.Load()
			}
		}
		if hold != nil {
			select {
			case <-*hold:
			case <-c.Done():
			}
		}
		if hold != nil && s.cuts.Load() {
			c.Reset()
			return nil
		}
		_, err := c.Write([]byte(reply))
		return err
	}})
	return s
}

// values are the values of all keys in the two processes of an apartServer.
var values = [...]string{big, strings.Repeat("y", 1<<20)}

// requireOf requires that a result comes from a process.
func requireOf(t *testing.T, process int, res any) {
	t.Helper()
	require.NoError(t, redis.AsError(res))
	require.True(t, bytes.Equal([]byte(values[process]), res.([]byte)))
}

// hold makes the server hold back the answers to which at belongs, until release is called.
func hold(at *atomic.Pointer[chan struct{}]) (release func()) {
	held := make(chan struct{})
	at.Store(&held)
	return func() {
		at.Store(nil)
		close(held)
	}
}

// A read that runs apart is sent when the shared connection has shown that all earlier requests have run. If
// that is lost before, the read goes the usual way, like a request that enters then.
func TestLargeReadsWaitForEarlierRequests(t *testing.T) {
	s := newApartServer(t)
	conn := connect(t, s.Addr(), lasting)
	apart(t, conn, "blob")

	release := hold(&s.ping)
	pings, gets := s.pings.Load(), s.gets.Load()
	read := doing(t.Context(), conn, "GET", "blob")
	eventually(t, "the PING", func() bool { return s.pings.Load() > pings })
	require.Equal(t, gets, s.gets.Load())
	release()
	requireBig(t, conntest.Await(t, "the read", read))

	before := conn.Stats()
	release, pings = hold(&s.ping), s.pings.Load()
	read = doing(t.Context(), conn, "GET", "blob")
	eventually(t, "the PING", func() bool { return s.pings.Load() > pings })
	s.cuts.Store(true)
	release()
	if res := conntest.Await(t, "the read", read); redis.AsError(res) != nil {
		requireNotSent(t, res, redisconn.ErrNotConnected) // it came before the next connection was dialed
	} else {
		requireBig(t, res)
	}
	require.Equal(t, before.Dedicated.Values, conn.Stats().Dedicated.Values)
}

// Small requests are answered while replies are held back elsewhere. Shutdown waits for reads that run
// apart, and for those that wait for that.
func TestLargeReadsHoldUpNothing(t *testing.T) {
	s := newApartServer(t)
	conn := connect(t, s.Addr(), lasting)
	apart(t, conn, "blob")
	release, gets := hold(&s.get), s.gets.Load()
	var reads []<-chan any
	for range 5 {
		reads = append(reads, doing(t.Context(), conn, "GET", "blob"))
	}
	eventually(t, "one runs", func() bool { return s.gets.Load() > gets && conn.Pending() == 5 })
	require.Equal(t, "OK", redis.Sync{S: conn}.Do("SET", "small", "v"))
	shut := make(chan error, 1)
	go func() { shut <- conn.Shutdown(background) }()
	eventually(t, "no more requests", func() bool {
		err := redis.AsErrorx(redis.Sync{S: conn}.Do("SET", "small", "v"))
		return err != nil && err.HasTrait(redis.ErrTraitNotSent)
	})
	release()
	for _, read := range reads {
		requireBig(t, conntest.Await(t, "a read", read))
	}
	require.NoError(t, conntest.Await(t, "the end", shut))
}

// Close ends reads that run apart, and those that wait for that. A caller may leave earlier.
func TestLargeReadsEnd(t *testing.T) {
	s := newApartServer(t)
	conn := connect(t, s.Addr(), lasting)
	apart(t, conn, "blob")
	defer hold(&s.get)()
	gets := s.gets.Load()
	ctx, leave := context.WithCancel(t.Context())
	left := doing(ctx, conn, "GET", "blob")
	eventually(t, "it runs", func() bool { return s.gets.Load() > gets })
	leave()
	requireUnknown(t, conntest.Await(t, "the caller", left), redis.ErrRequestCancelled)

	var reads []<-chan any
	for range 5 {
		reads = append(reads, doing(t.Context(), conn, "GET", "blob"))
	}
	eventually(t, "they wait", func() bool { return conn.Pending() == 6 })
	conn.Close()
	for _, read := range reads {
		require.Error(t, redis.AsError(conntest.Await(t, "a read", read)))
	}
}

// A read that has waited for others must not run on their server if the shared connection leads to
// another process by then. Later reads don't wait for them.
func TestLargeReadsStayWithTheProcess(t *testing.T) {
	s := newApartServer(t)
	conn := connect(t, s.Addr(), lasting)
	apart(t, conn, "blob")
	release, gets := hold(&s.get), s.gets.Load()
	before := []<-chan any{doing(t.Context(), conn, "GET", "blob")}
	eventually(t, "it runs", func() bool { return s.gets.Load() > gets })
	before = append(before, doing(t.Context(), conn, "GET", "blob"))
	eventually(t, "one waits", func() bool { return conn.Pending() == len(before) })
	s.restart(t, conn)
	for range 4 {
		requireOf(t, 1, conntest.Await(t, "a read", doing(t.Context(), conn, "GET", "blob")))
	}
	release()
	for i, read := range before {
		requireOf(t, i, conntest.Await(t, "an earlier read", read))
	}
}

// Reads use no more connections than there may be, even if an idle one leads to another process.
func TestLargeReadsMakeNoMoreConnections(t *testing.T) {
	s := newApartServer(t)
	opts := lasting
	opts.DedicatedConns = 1
	conn := connect(t, s.Addr(), opts)
	apart(t, conn, "blob")
	s.restart(t, conn)
	for range 20 {
		requireOf(t, 1, redis.Sync{S: conn}.Do("GET", "blob"))
		require.LessOrEqual(t, conn.Stats().Dedicated.Open, 1)
	}
}

// Waiting reads let other users of dedicated connections go first, and then use the shared connection.
func TestLargeReadsLeaveTheirPlaces(t *testing.T) {
	s := newApartServer(t)
	opts := lasting
	opts.DedicatedConns = 1
	conn := connect(t, s.Addr(), opts)
	apart(t, conn, "blob")
	before := conn.Stats().Dedicated.Values
	release, gets := hold(&s.get), s.gets.Load()
	var reads []<-chan any
	for range 3 {
		reads = append(reads, doing(t.Context(), conn, "GET", "blob"))
	}
	eventually(t, "they run or wait", func() bool { return s.gets.Load() > gets && conn.Pending() == len(reads) })
	pop := doing(t.Context(), conn, "BLPOP", "list", 0)
	eventually(t, "it waits", func() bool { return conn.Stats().Dedicated.Waiting == 1 })
	release()
	require.Equal(t, "OK", conntest.Await(t, "the blocking command", pop))
	for _, read := range reads {
		requireBig(t, conntest.Await(t, "a read", read))
	}
	require.Equal(t, before+2, conn.Stats().Dedicated.Values)
}

// Shutdown waits for reads that wait for their turn, even if the connection of the read before them can't be
// used again.
func TestLargeReadsBeforeShutdown(t *testing.T) {
	s := newApartServer(t)
	opts := lasting
	opts.DedicatedConns = 1
	opts.CredentialsProvider = func(context.Context) (redisconn.Credentials, error) {
		return redisconn.Credentials{Password: canary}, nil
	}
	conn := connect(t, s.Addr(), opts)
	apart(t, conn, "blob")
	release, gets := hold(&s.get), s.gets.Load()
	var reads []<-chan any
	for range 3 {
		reads = append(reads, doing(t.Context(), conn, "GET", "blob"))
	}
	eventually(t, "they run or wait", func() bool { return s.gets.Load() > gets && conn.Pending() == len(reads) })
	require.NoError(t, conn.Reauthenticate(background))
	shut := make(chan any, 1)
	go func() { shut <- conn.Shutdown(background) }()
	eventually(t, "no more requests", func() bool {
		return errors.Is(redis.Err(redis.Sync{S: conn}.Do("SET", "small", "v")), redis.ErrNotSent)
	})
	release()
	for _, read := range reads {
		requireBig(t, conntest.Await(t, "a read", read))
	}
	require.Nil(t, conntest.Await(t, "the end", shut))
}

// Concurrent reads ask only once to which process the shared connection leads.
func TestLargeReadsAskOnce(t *testing.T) {
	s := newApartServer(t)
	conn := connect(t, s.Addr(), lasting)
	release := hold(&s.ping)
	var reads []<-chan any
	for s.infos.Load() == 0 {
		read := doing(t.Context(), conn, "GET", "blob")
		eventually(t, "it is answered, or asks", func() bool { return len(read) > 0 || s.infos.Load() > 0 })
		reads = append(reads, read)
	}
	const more = 10
	for range more {
		reads = append(reads, doing(t.Context(), conn, "GET", "blob"))
	}
	eventually(t, "they wait", func() bool { return conn.Pending() == 1+more })
	release()
	for _, read := range reads {
		requireBig(t, conntest.Await(t, "a read", read))
	}
	require.Equal(t, int64(1), s.infos.Load())
}

// A read whose caller leaves before it is sent is not sent, and changes nothing for later reads.
func TestLargeReadsOfCallersThatLeave(t *testing.T) {
	s := newApartServer(t)
	conn := connect(t, s.Addr(), lasting)
	eventually(t, "a dedicated connection is idle", func() bool {
		requireBig(t, redis.Sync{S: conn}.Do("GET", "blob"))
		return conn.Stats().Dedicated.Idle == 1
	})
	before := conn.Stats().Dedicated.Values
	release, pings, gets := hold(&s.ping), s.pings.Load(), s.gets.Load()
	ctx, leave := context.WithCancel(t.Context())
	left := doing(ctx, conn, "GET", "blob")
	eventually(t, "the PING", func() bool { return s.pings.Load() > pings })
	leave()
	require.ErrorIs(t, redis.Err(conntest.Await(t, "the caller", left)), context.Canceled)
	release()
	eventually(t, "nothing is left", func() bool { return conn.Pending() == 0 })
	require.Equal(t, gets, s.gets.Load())
	requireBig(t, redis.Sync{S: conn}.Do("GET", "blob"))
	require.Equal(t, before+1, conn.Stats().Dedicated.Values)
}
