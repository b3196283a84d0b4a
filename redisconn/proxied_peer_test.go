package redisconn_test

import (
	"io"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/conntest"
	"github.com/joomcode/redispipe/internal/lab/virtualtime"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
)

// peer is a server behind a proxy, or a server that only resembles Redis. answer may return an
// answer, "close" to close the connection, or "nothing" for no answer. For "" the server answers like
// Redis.
func peer(t *testing.T, answer func(r chaos.ScriptedRequest) string) *chaos.ScriptedServer {
	t.Helper()
	return chaos.NewScripted(t, chaos.ScriptedOpts{Raw: true, Handler: func(c *chaos.ScriptedConn, r chaos.ScriptedRequest) error {
		reply := answer(r)
		switch {
		case reply == "close":
			return net.ErrClosed
		case reply == "nothing":
			return nil
		case reply == "" && r.Cmd == "PING":
			reply = pong(append([]string{r.Cmd}, r.Args...))
		case reply == "":
			reply = "+OK\r\n"
		}
		_, err := io.WriteString(c, reply)
		return err
	}})
}

// occupied is a peer that answers BLPOP when pops is called, and EXEC with one result.
func occupied(t *testing.T, result string) (s *chaos.ScriptedServer, pops func()) {
	t.Helper()
	popped := make(chan struct{})
	s = peer(t, func(r chaos.ScriptedRequest) string {
		switch r.Cmd {
		case "PING":
			return "+PONG\r\n"
		case "BLPOP":
			<-popped
			return "*-1\r\n"
		case "SET", "INCR":
			return "+QUEUED\r\n"
		case "EXEC":
			return "*1\r\n" + result + "\r\n"
		}
		return ""
	})
	pops = sync.OnceFunc(func() { close(popped) })
	t.Cleanup(pops)
	return s, pops
}

// requireHeartbeats requires that the connection lasts for several heartbeats.
func requireHeartbeats(t *testing.T, s *chaos.ScriptedServer, log *recorder) {
	t.Helper()
	pings := func() (n int) {
		for _, r := range s.Requests() {
			if r.Cmd == "PING" {
				n++
			}
		}
		return n
	}
	before := pings()
	eventually(t, "heartbeats", func() bool { return pings() >= before+4 })
	require.Zero(t, log.Count("Disconnected"))
}

// The client sends the kind of heartbeat that the peer can answer.
func TestHeartbeatFitsThePeer(t *testing.T) {
	t.Parallel()
	closesAt := func(lacks func(r chaos.ScriptedRequest) bool) func(chaos.ScriptedRequest) string {
		return func(r chaos.ScriptedRequest) string {
			if lacks(r) {
				return "close"
			}
			return ""
		}
	}
	for name, c := range map[string]struct {
		answer  func(r chaos.ScriptedRequest) string
		without string // a part of the log line
		opts    redisconn.Opts
		dials   int
	}{
		"a simple string": {func(r chaos.ScriptedRequest) string {
			if r.Cmd == "PING" && len(r.Args) > 0 {
				return "+" + r.Args[0] + "\r\n"
			}
			return ""
		}, "", redisconn.Opts{Integrity: true}, 1},
		"PONG": {func(r chaos.ScriptedRequest) string {
			if r.Cmd == "PING" {
				return "+PONG\r\n"
			}
			return ""
		}, "PING's argument", redisconn.Opts{}, 1},
		"PONG as a bulk string": {func(r chaos.ScriptedRequest) string {
			if r.Cmd == "PING" {
				return bulk("PONG")
			}
			return ""
		}, "PING's argument", redisconn.Opts{}, 1},
		"no PING": {func(r chaos.ScriptedRequest) string {
			if r.Cmd == "PING" {
				return "-ERR unknown command 'ping'\r\n"
			}
			return ""
		}, "PING: it answers heartbeats with an error", redisconn.Opts{}, 1},
		"closes at PING's argument": {closesAt(func(r chaos.ScriptedRequest) bool {
			return r.Cmd == "PING" && len(r.Args) > 0
		}), "PING's argument", redisconn.Opts{}, 3},
		"closes at CLIENT": {closesAt(func(r chaos.ScriptedRequest) bool {
			return r.Cmd == "CLIENT"
		}), "CLIENT SETINFO", redisconn.Opts{Integrity: true, ClientName: "x"}, 3},
		"closes at CLIENT and PING's argument": {closesAt(func(r chaos.ScriptedRequest) bool {
			return r.Cmd == "CLIENT" || r.Cmd == "PING" && len(r.Args) > 0
		}), "CLIENT SETINFO", redisconn.Opts{}, 3},
		"closes at HELLO": {closesAt(func(r chaos.ScriptedRequest) bool {
			return r.Cmd == "HELLO"
		}), "RESP3", redisconn.Opts{Protocol: 3, Password: canary}, 3},
		"NOPROTO": {func(r chaos.ScriptedRequest) string {
			if r.Cmd == "HELLO" {
				return "-NOPROTO unsupported protocol version\r\n"
			}
			return ""
		}, "RESP3", redisconn.Opts{Protocol: 3, Password: canary}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := peer(t, c.answer)
			log := &recorder{}
			c.opts.Logger, c.opts.Heartbeat, c.opts.IOTimeout = log, 5*time.Millisecond, patience
			conn := connect(t, s.Addr(), c.opts)
			require.Equal(t, c.dials, s.Accepted())
			requireHeartbeats(t, s, log)
			require.Equal(t, "OK", redis.Sync{S: conn}.Do("SET", "k", "v"))
			if name != "no PING" {
				require.NoError(t, conn.Ping())
			}
			if c.without == "" {
				require.Zero(t, log.Count("PeerLimited"))
			} else {
				require.Contains(t, conntest.Event[redisconn.LogPeerLimited](log).Without, c.without)
			}
			if c.opts.Password != "" {
				require.True(t, slices.ContainsFunc(s.Requests(), func(r chaos.ScriptedRequest) bool {
					return r.Cmd == "AUTH" && r.Args[0] == canary
				}))
			}
		})
	}
}

// If a proxy is known not to support a request of the handshake, later handshakes leave the request
// out. This is reported once.
func TestPeerIsKnown(t *testing.T) {
	t.Parallel()
	s := peer(t, func(r chaos.ScriptedRequest) string {
		if r.Cmd == "CLIENT" || r.Cmd == "PING" && len(r.Args) > 0 || r.Cmd == "CLOSE" {
			return "close"
		}
		return ""
	})
	log := &recorder{}
	conn := connect(t, s.Addr(), redisconn.Opts{Logger: log, IOTimeout: patience})
	require.Equal(t, 3, s.Accepted())
	lost := sendTo(conn, "CLOSE").Wait(t)
	requireUnknown(t, lost, redis.ErrIO)
	require.ErrorContains(t, redis.AsError(lost), "a proxy closed the connection")
	eventually(t, "connected again", func() bool { return log.Count("Connected") == 2 })
	require.Equal(t, 4, s.Accepted())
	require.Equal(t, 1, log.Count("PeerLimited"))
}

// If a server closes the connection only once, the handshake is not the reason: nothing is left
// out.
func TestPeerThatClosesOnce(t *testing.T) {
	t.Parallel()
	s := peer(t, func(r chaos.ScriptedRequest) string {
		if r.Conn == 1 {
			return "close"
		}
		return ""
	})
	log := &recorder{}
	connect(t, s.Addr(), redisconn.Opts{Logger: log, IOTimeout: patience})
	require.Zero(t, log.Count("PeerLimited"))
}

// The handshake shows whether Integrity works with the peer.
func TestIntegrityIsProven(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ping string
		says string
	}{
		"PONG":    {"+PONG\r\n", "Opts.Integrity needs a server that answers PING with its argument"},
		"closes":  {"close", "Opts.Integrity"},
		"no PING": {"-ERR unknown command 'ping'\r\n", "Opts.Integrity, and sockets for pushes, need a server that knows PING"},
	} {
		t.Run(name, func(t *testing.T) {
			s := peer(t, func(r chaos.ScriptedRequest) string {
				if r.Cmd == "PING" && len(r.Args) > 0 {
					return c.ping
				}
				return ""
			})
			_, err := redisconn.Connect(background, s.Addr(), redisconn.Opts{Integrity: true, Logger: redisconn.NoopLogger{}, ReconnectPause: -1})
			require.ErrorContains(t, err, c.says)
		})
	}
}

// If the peer closes the connection no matter which requests the handshake leaves out, the error
// names the options that add requests to the handshake.
func TestPeerThatClosesAnyway(t *testing.T) {
	t.Parallel()
	s := peer(t, func(chaos.ScriptedRequest) string { return "close" })
	_, err := redisconn.Connect(background, s.Addr(), redisconn.Opts{
		DB: 1, Password: canary, Logger: redisconn.NoopLogger{}, ReconnectPause: -1, IOTimeout: patience,
	})
	require.ErrorContains(t, err, "Opts.NoClientInfo")
	require.ErrorContains(t, err, "Opts.DB, Opts.Password")
	require.NotContains(t, err.Error(), canary)
	require.Equal(t, 2, s.Accepted())
}

func TestRoleInOneMoreArray(t *testing.T) {
	t.Parallel()
	s := peer(t, func(r chaos.ScriptedRequest) string {
		if r.Cmd == "ROLE" {
			return "*1\r\n*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n"
		}
		return ""
	})
	connect(t, s.Addr(), redisconn.Opts{Role: redisconn.RoleMaster, Logger: redisconn.NoopLogger{}, ReconnectPause: -1})
}

func TestHeartbeatInterval(t *testing.T) {
	for name, c := range map[string]struct {
		opts  redisconn.Opts
		beats int // in a minute
	}{
		"shorter than checks": {redisconn.Opts{Heartbeat: 50 * time.Millisecond}, 1200},
		"longer":              {redisconn.Opts{Heartbeat: 5 * time.Second}, 12},
		"much longer":         {redisconn.Opts{Heartbeat: time.Hour}, 0},
		"none":                {redisconn.Opts{Heartbeat: -1}, 0},
		"without IOTimeout":   {redisconn.Opts{Heartbeat: 10 * time.Second, IOTimeout: -1}, 6},
	} {
		t.Run(name, func(t *testing.T) {
			virtualtime.Run(t, func(t *testing.T) {
				p, count := conntest.Beats(bulk)
				connectPipes(t, p, c.opts)
				time.Sleep(time.Minute)
				require.InDelta(t, c.beats, count.Load(), float64(c.beats)/20+1)
			})
		})
	}
}
