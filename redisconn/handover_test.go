package redisconn_test

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/lab/drill"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
)

// hello3 is a short reply to HELLO 3.
const hello3 = "%1\r\n+proto\r\n:3\r\n"

// moving returns the announcement that a server moves to an address.
func moving(addr string) string {
	return fmt.Sprintf(">4\r\n$6\r\nMOVING\r\n:1\r\n:600\r\n%s", chaos.ScriptedBulk(addr))
}

// A connection with RESP3 asks the server to announce maintenance on its shared socket. If the server
// refuses, the connection does not ask again, and logs nothing.
func TestMaintenanceIsAskedFor(t *testing.T) {
	for _, knows := range []bool{true, false} {
		server := peer(t, func(r chaos.ScriptedRequest) string {
			switch {
			case r.Cmd == "HELLO":
				return hello3
			case r.Cmd == "END":
				return "close"
			case r.Cmd == "CLIENT" && r.Args[0] == "MAINT_NOTIFICATIONS" && !knows:
				return "-ERR unknown subcommand 'MAINT_NOTIFICATIONS'. Try CLIENT HELP.\r\n"
			}
			return ""
		})
		asked := func(protocol int) (n int) {
			log := &recorder{}
			before := len(server.Requests())
			conn := connect(t, server.Addr(), redisconn.Opts{Protocol: protocol, Logger: log})
			defer conn.Close()
			require.NoError(t, redis.WithSession(background, conn, "", func(s *redis.Session) error { return redis.Err(s.Do("GET", "k")) }))
			require.Error(t, redis.Err(redis.Sync{S: conn}.Do("END")))
			eventually(t, "connected again", func() bool { return log.Count("Connected") > 1 })
			require.Zero(t, log.Count("PeerLimited"))
			require.Zero(t, log.Count("ConnectFailed"))
			for _, r := range server.Requests()[before:] {
				if r.Cmd == "CLIENT" && r.Args[0] == "MAINT_NOTIFICATIONS" {
					require.Equal(t, []string{"MAINT_NOTIFICATIONS", "ON", "moving-endpoint-type", "internal-ip"}, r.Args)
					n++
				}
			}
			return n
		}
		require.Zero(t, asked(2))
		if knows {
			require.Equal(t, 2, asked(3), "both shared sockets, and not that of the session")
		} else {
			require.Equal(t, 1, asked(3))
		}
	}
}

// ran records the requests that two servers have run, by the goroutines that sent them.
type ran struct {
	mu    sync.Mutex // guards the fields below
	last  map[string]int
	wrong []string
}

// handler answers ECHO g:n, which must be request number n of goroutine g.
func (r *ran) handler(c *chaos.ScriptedConn, req chaos.ScriptedRequest) error {
	reply := "+OK\r\n"
	if req.Cmd == "ECHO" {
		g, n, _ := strings.Cut(req.Args[0], ":")
		r.mu.Lock()
		if r.last[g]++; strconv.Itoa(r.last[g]) != n {
			r.wrong = append(r.wrong, fmt.Sprintf("%s after %d", req.Args[0], r.last[g]-1))
		}
		r.mu.Unlock()
		reply = chaos.ScriptedBulk(req.Args[0])
	}
	_, err := io.WriteString(c, reply)
	return err
}

// Two servers hand the connection over to each other all the time. Each request must run once and get its
// own answer. The requests of a goroutine must run in order, whether or not the goroutine waits for
// them. No socket may leak.
func TestHandOvers(t *testing.T) {
	drill.Rotate(t)
	times := 30
	if os.Getenv("REDISPIPE_LONG") != "" {
		times = 3000
	}
	r := &ran{last: map[string]int{}}
	servers := [2]*chaos.ScriptedServer{}
	for i := range servers {
		servers[i] = chaos.NewScripted(t, chaos.ScriptedOpts{Handler: r.handler})
	}
	log := &recorder{}
	conn := connect(t, servers[0].Addr(), redisconn.Opts{Protocol: 3, Logger: log, IOTimeout: patience})
	db := redis.SyncCtx{S: conn}
	var over atomic.Bool
	var callers sync.WaitGroup
	sent := make([]int, 8)
	for g := range sent {
		next := func() string { sent[g]++; return fmt.Sprintf("%d:%d", g, sent[g]) }
		callers.Go(func() {
			for !over.Load() {
				switch {
				case g < 3:
					id := next()
					got, err := redis.As[string](db.Do(t.Context(), "ECHO", id))
					if err != nil || got != id {
						t.Errorf("%s: %s, %v", id, got, err)
						return
					}
					continue
				case g == 3: // large enough to be divided
					reqs := make([]redis.Request, 3000)
					for i := range reqs {
						reqs[i] = redis.Req("ECHO", next())
					}
					for i, res := range db.SendMany(t.Context(), reqs) {
						if got, err := redis.As[string](res); err != nil || got != reqs[i].Args[0] {
							t.Errorf("%v: %s, %v", reqs[i].Args[0], got, err)
							return
						}
					}
					continue
				}
				var all sync.WaitGroup
				for range 50 {
					id := next()
					all.Add(1)
					conn.Send(redis.Req("ECHO", id), redis.FuncFuture(func(res any, _ uint64) {
						defer all.Done()
						if got, err := redis.As[string](res); err != nil || got != id {
							t.Errorf("%s: %s, %v", id, got, err)
						}
					}), 0)
				}
				all.Wait()
			}
		})
	}
	for i := range times {
		to := servers[(i+1)%2]
		servers[i%2].Broadcast([]byte(moving(to.Addr())))
		eventually(t, "handed over", func() bool { return conn.RemoteAddr() == to.Addr() })
	}
	over.Store(true)
	callers.Wait()
	require.Empty(t, r.wrong)
	for g, n := range sent {
		require.Equal(t, n, r.last[strconv.Itoa(g)])
	}
	require.Zero(t, log.Count("Disconnected"))
	require.Zero(t, conn.Stats().Disconnects)
	require.Equal(t, uint64(times+1), conn.Stats().Connects)
}

// A redis.Session continues on its connection to the earlier server after a hand-over. Later sessions use
// the new address.
func TestHandOverOfDedicated(t *testing.T) {
	var servers [2]*chaos.ScriptedServer
	for i := range servers {
		servers[i] = chaos.NewScripted(t, chaos.ScriptedOpts{Handler: chaos.ScriptedReplies(fmt.Sprintf("+%d\r\n", i))})
	}
	conn := connect(t, servers[0].Addr(), redisconn.Opts{Protocol: 3})
	where := func() (at any) {
		require.NoError(t, redis.WithSession(background, conn, "", func(s *redis.Session) error {
			at = s.Do("GET", "k")
			return redis.Err(at)
		}))
		return at
	}
	require.Equal(t, "0", where())
	require.NoError(t, redis.WithSession(background, conn, "", func(s *redis.Session) error {
		servers[0].Broadcast([]byte(moving(servers[1].Addr())))
		eventually(t, "handed over", func() bool { return conn.RemoteAddr() == servers[1].Addr() })
		require.Equal(t, "0", s.Do("GET", "k"))
		return nil
	}))
	eventually(t, "sessions follow", func() bool { return where() == "1" })
}
