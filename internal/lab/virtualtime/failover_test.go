// Package virtualtime has tests in which only waits take time, so that bounds are exact and the
// speed of the machine does not matter. They run in a separate process, because pooled objects must
// not come from outside their bubble.
package virtualtime

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/lab/drill"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
)

// pipeGroup acts as a sentinel and the servers of a group, over pipes, for tests with a fake clock.
type pipeGroup struct {
	mu          sync.Mutex // guards the fields below
	master      string
	epoch       int
	silent      string // address of a server that answers nothing
	dead        string // address of a server that is down
	refuses     int    // number of connections that the next master still refuses
	left        int    // number of writes that a slow old master still answers, one each 20 ms
	conns       map[string][]net.Conn
	subscribers []net.Conn
	written     time.Time // when the old master last got a write
}

// dial is an Opts.Dialer.
func (g *pipeGroup) dial(_ context.Context, _, addr string) (net.Conn, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if addr == next && g.refuses > 0 {
		g.refuses--
		addr = g.dead
	}
	if addr == g.dead {
		return nil, errors.New("connection refused")
	}
	client, server := net.Pipe()
	g.conns[addr] = append(g.conns[addr], server)
	go g.serve(addr, server) // ends with the pipe
	return client, nil
}

func (g *pipeGroup) serve(addr string, conn net.Conn) {
	defer conn.Close()
	for in := bufio.NewReader(conn); ; {
		res, _ := redis.ReadResponse(in)
		words, ok := res.([]any)
		if !ok {
			return
		}
		args := make([]string, len(words))
		for i, w := range words {
			args[i] = string(w.([]byte))
		}
		if _, err := io.WriteString(conn, g.answer(addr, conn, args)); err != nil {
			return
		}
	}
}

func (g *pipeGroup) answer(addr string, conn net.Conn, args []string) (reply string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	host, port := splitAddr(g.master)
	switch words := strings.ToUpper(strings.Join(args[:min(2, len(args))], " ")); {
	case addr == g.silent:
		g.written = time.Now()
		return ""
	case args[0] == "SET" && addr == old:
		g.written = time.Now()
		return "+OK\r\n"
	case args[0] == "INCR" && addr == old:
		if g.left--; g.left < 0 {
			return ""
		}
		g.mu.Unlock()
		time.Sleep(20 * time.Millisecond)
		g.mu.Lock()
		return ":1\r\n"
	case strings.HasPrefix(words, "PING") && len(args) > 1:
		return chaos.ScriptedBulk(args[1])
	case words == "PING":
		return "+PONG\r\n"
	case args[0] == "SUBSCRIBE":
		g.subscribers = append(g.subscribers, conn)
		for i, channel := range args[1:] {
			reply += fmt.Sprintf("*3\r\n%s%s:%d\r\n", chaos.ScriptedBulk("subscribe"), chaos.ScriptedBulk(channel), i+1)
		}
		return reply
	case words == "SENTINEL GET-MASTER-ADDR-BY-NAME":
		return stringsReply(host, port)
	case words == "SENTINEL MASTER":
		return stringsReply("ip", host, "port", port, "config-epoch", fmt.Sprint(g.epoch))
	case words == "CLUSTER SLOTS":
		return "*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n" + chaos.ScriptedBulk(host) + ":" + port + "\r\n"
	case args[0] == "CLUSTER":
		return "-NOPERM no\r\n"
	case args[0] == "SENTINEL":
		return "*0\r\n"
	case args[0] == "ROLE":
		return "*3\r\n" + chaos.ScriptedBulk("master") + ":0\r\n*0\r\n"
	case args[0] == "INFO":
		return chaos.ScriptedBulk("role:master\r\n")
	}
	return "+OK\r\n"
}

// promote makes the sentinel announce another master.
func (g *pipeGroup) promote(addr string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.master = addr
	g.epoch++
	for _, conn := range g.subscribers {
		_, _ = io.WriteString(conn, stringsReply("message", "+switch-master", ""))
	}
}

// kill kills the old master.
func (g *pipeGroup) kill() {
	g.dead = old
	for _, conn := range g.conns[old] {
		conn.Close()
	}
}

// killAndRefuse kills the old master, and makes the next one refuse the first two connections.
func (g *pipeGroup) killAndRefuse() {
	g.kill()
	g.refuses = 2
}

func splitAddr(addr string) (host, port string) {
	host, port, _ = net.SplitHostPort(addr)
	return host, port
}

func stringsReply(list ...string) string {
	reply := fmt.Sprintf("*%d\r\n", len(list))
	for _, s := range list {
		reply += chaos.ScriptedBulk(s)
	}
	return reply
}

const old, next = "10.0.0.1:6379", "10.0.0.2:6379"

// Writes continue soon after the announcement, no matter how the old master failed and how long
// before. An old master with unanswered requests has 50 ms to answer. After the client has asked
// the sentinel again, which it does at most every 5 ms, it sends nothing more to the old master. If
// the next master refuses the first two connections, the client dials again within half of
// ReconnectPause, which is 250 ms. A request that was refused for long waits longer than that.
func TestWritesGoOnSoonAfterAFailover(t *testing.T) {
	drill.Rotate(t)
	Run(t, func(t *testing.T) {
		for name, tt := range map[string]struct {
			fault  func(*pipeGroup)
			within time.Duration
		}{
			"the old master lives": {func(*pipeGroup) {}, 20 * time.Millisecond},
			"it is frozen":         {func(g *pipeGroup) { g.silent = old }, 70 * time.Millisecond},
			"it is dead":           {(*pipeGroup).kill, 20 * time.Millisecond},
			"it is dead, and the next one takes no connection at first": {(*pipeGroup).killAndRefuse, 400 * time.Millisecond},
		} {
			for _, before := range []time.Duration{0, 3 * time.Millisecond, 70 * time.Millisecond, 700 * time.Millisecond, 7 * time.Second} {
				last := writesResume(t, tt.fault, before)
				t.Logf("%s for %v: writes go on after %v", name, before, last)
				require.LessOrEqual(t, last, tt.within, "%s for %v", name, before)
			}
		}
	})
}

// writesResume returns the time from the announcement until all callers have written again. before
// is the time from the fault to the announcement.
func writesResume(t *testing.T, fault func(*pipeGroup), before time.Duration) (last time.Duration) {
	g := &pipeGroup{master: old, conns: make(map[string][]net.Conn)}
	opts := redisconn.Opts{Dialer: g.dial}
	c, err := rediscluster.NewSentinel(t.Context(), []string{"10.0.0.9:26379"}, "main", rediscluster.Opts{
		HostOpts: opts, SentinelOpts: opts, Logger: rediscluster.NoopLogger{},
	})
	require.NoError(t, err)
	defer c.Close()
	db := redis.Sync{S: c}
	require.Equal(t, "OK", db.Do("SET", "a", "1"))
	time.Sleep(time.Second) // the client has subscribed by then
	g.mu.Lock()
	fault(g)
	g.mu.Unlock()
	var announced atomic.Int64
	began := time.Now()
	resumed := make(chan time.Duration, 16)
	var callers sync.WaitGroup
	for range cap(resumed) {
		callers.Go(func() {
			for {
				asked := announced.Load()
				if db.Do("SET", "a", "1") == "OK" && asked != 0 {
					resumed <- time.Since(began) - time.Duration(asked)
					return
				}
				time.Sleep(time.Millisecond)
			}
		})
	}
	time.Sleep(before + 1)
	g.promote(next)
	announced.Store(int64(time.Since(began)))
	callers.Wait()
	g.mu.Lock()
	defer g.mu.Unlock()
	late := g.written.Sub(began) - time.Duration(announced.Load())
	require.LessOrEqual(t, late, 6*time.Millisecond, "a write on the old master after the announcement")
	for range cap(resumed) {
		last = max(last, <-resumed)
	}
	return last
}

// A replaced master may answer what was written to it, for as long as answers come. When it has been silent
// for 50 ms, the client stops waiting. It looks every 25 ms, so it may wait for 75 ms.
func TestReplacedMasterAnswers(t *testing.T) {
	for _, left := range []int{16, 7} {
		Run(t, func(t *testing.T) {
			g := &pipeGroup{master: old, conns: make(map[string][]net.Conn), left: left}
			opts := redisconn.Opts{Dialer: g.dial}
			c, err := rediscluster.NewSentinel(t.Context(), []string{"10.0.0.9:26379"}, "main", rediscluster.Opts{
				HostOpts: opts, SentinelOpts: opts, Logger: rediscluster.NoopLogger{},
			})
			require.NoError(t, err)
			defer c.Close()
			time.Sleep(time.Second) // the client has subscribed by then
			began := time.Now()
			time.AfterFunc(10*time.Millisecond, func() { g.promote(next) })
			reqs := make([]redis.Request, 16)
			for i := range reqs {
				reqs[i] = redis.Req("INCR", "n")
			}
			known := 0
			for _, res := range (redis.Sync{S: c}).SendMany(reqs) {
				if redis.OutcomeOf(res) == redis.OutcomeValue {
					known++
				} else {
					assert.Equal(t, redis.OutcomeUnknown, redis.OutcomeOf(res), "%v", res)
				}
			}
			assert.Equal(t, left, known)
			assert.LessOrEqual(t, time.Since(began), time.Duration(left)*20*time.Millisecond+76*time.Millisecond)
		})
	}
}

// A DialTimeout that is longer than IOTimeout also holds for the connections over which the client asks
// for the masters.
func TestSlowDials(t *testing.T) {
	starts := map[string]func(context.Context, rediscluster.Opts) (*rediscluster.Cluster, error){
		"cluster": func(ctx context.Context, opts rediscluster.Opts) (*rediscluster.Cluster, error) {
			return rediscluster.NewCluster(ctx, []string{old}, opts)
		},
		"list": func(ctx context.Context, opts rediscluster.Opts) (*rediscluster.Cluster, error) {
			return rediscluster.NewReplicated(ctx, []string{old}, opts)
		},
		"sentinels": func(ctx context.Context, opts rediscluster.Opts) (*rediscluster.Cluster, error) {
			return rediscluster.NewSentinel(ctx, []string{"10.0.0.9:26379"}, "main", opts)
		},
	}
	for name, start := range starts {
		t.Run(name, func(t *testing.T) {
			Run(t, func(t *testing.T) {
				g := &pipeGroup{master: old, conns: make(map[string][]net.Conn)}
				opts := redisconn.Opts{IOTimeout: time.Second, DialTimeout: 3 * time.Second}
				opts.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
					time.Sleep(2 * time.Second)
					return g.dial(ctx, network, addr)
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				c, err := start(ctx, rediscluster.Opts{HostOpts: opts, SentinelOpts: opts, Logger: rediscluster.NoopLogger{}})
				require.NoError(t, err)
				defer c.Close()
				require.Equal(t, "OK", redis.SyncCtx{S: redis.WithRetry(c, redis.RetryOpts{})}.Do(ctx, "SET", "a", "1"))
			})
		})
	}
}
