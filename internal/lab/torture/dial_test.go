package torture

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
)

// downServer is a server at the other end of a net.Pipe. It is down at times.
type downServer struct {
	mu    sync.Mutex // guards the fields below
	down  bool
	dials []time.Time
	conns []net.Conn
}

// dial is a redisconn.Opts.Dialer.
func (s *downServer) dial(context.Context, string, string) (net.Conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dials = append(s.dials, time.Now())
	if s.down {
		return nil, errors.New("the server is down")
	}
	here, there := net.Pipe()
	s.conns = append(s.conns, there)
	go answerPings(there) // ends with the pipe
	return here, nil
}

func answerPings(conn net.Conn) {
	in := bufio.NewReader(conn)
	for {
		res, _ := redis.ReadResponse(in)
		args, ok := res.([]any)
		if !ok {
			return
		}
		if _, err := io.WriteString(conn, pipeReply(args)); err != nil {
			return
		}
	}
}

// pipeReply returns the reply to PING or ECHO.
func pipeReply(args []any) string {
	if len(args) > 1 {
		return chaos.ScriptedBulk(string(args[1].([]byte)))
	}
	return "+PONG\r\n"
}

// goDown(true) closes all connections and refuses new ones. goDown(false) accepts new ones again.
func (s *downServer) goDown(down bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = down
	for _, conn := range s.conns {
		conn.Close()
	}
	s.conns = nil
}

// T19: when the server of two hundred clients goes down and comes back, the clients do not all dial
// it at the same time. The first dial of each client, right after the loss, does not count: it
// restores a client that lost only its own connection. The test uses virtual time, because a busy
// machine would delay dials and thus bunch them.
func TestT19DialsAreSpread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const clients = 200
		s := &downServer{}
		opts := redisconn.Opts{Logger: redisconn.NoopLogger{}, NoClientInfo: true, Dialer: s.dial}
		conns := make([]*redisconn.Connection, clients)
		for i := range conns {
			var err error
			conns[i], err = redisconn.Connect(t.Context(), "pipe:1", opts)
			require.NoError(t, err)
		}
		time.Sleep(2 * time.Second) // the time of some heartbeats
		down := time.Now()
		s.goDown(true)
		time.Sleep(3 * time.Second)
		s.goDown(false)
		time.Sleep(time.Second)
		for _, conn := range conns {
			require.True(t, conn.ConnectedNow())
			conn.Close()
		}
		time.Sleep(time.Minute) // the servers notice the end

		dials := slices.DeleteFunc(s.dials, func(at time.Time) bool { return !at.After(down) })
		most, when := 0, time.Duration(0)
		for i := range dials {
			n := 0
			for _, other := range dials[i:] {
				if other.Sub(dials[i]) < 100*time.Millisecond {
					n++
				}
			}
			if n > most {
				most, when = n, dials[i].Sub(down)
			}
		}
		t.Logf("%d dials, at most %d within 100 ms, at %v", len(dials), most, when)
		require.GreaterOrEqual(t, len(dials), clients)
		require.LessOrEqual(t, most, len(dials)/10+len(dials)/50) // a tenth, and some more because pauses are random
	})
}

// T19: if a server hangs up right after the handshake, the client pauses before it dials again.
func TestT19HangUpAfterHandshake(t *testing.T) {
	beside(t)
	s := chaos.NewScripted(t, chaos.ScriptedOpts{Raw: true, Handler: chaos.ScriptedThenClose("+PONG\r\n")})
	opts := fast()
	opts.AsyncDial, opts.Logger, opts.NoClientInfo = true, redisconn.NoopLogger{}, true
	opts.ReconnectPause, opts.ReconnectPauseMax = 100*time.Millisecond, 200*time.Millisecond
	conn, err := redisconn.Connect(context.Background(), s.Addr(), opts)
	require.NoError(t, err)
	defer conn.Close()
	time.Sleep(time.Second)
	require.Eventually(t, func() bool { return s.Accepted() > 0 }, patience, time.Millisecond)
	require.Less(t, s.Accepted(), 100)
}
