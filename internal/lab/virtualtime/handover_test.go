package virtualtime

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
)

// managed is a pair of servers. The first one, old, announces maintenance.
type managed struct {
	old, new *chaos.ScriptedServer
	conn     *redisconn.Connection
	held     chan struct{} // closed to let the server answer ECHO

	mu    sync.Mutex // guards the fields below
	leads map[string]*pipes
	dials []string // the addresses that were dialed
}

const oldAddr, newAddr = "10.2.0.1:6379", "10.2.0.2:6379"

// dial is used as redisconn.Opts.Dialer.
func (m *managed) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	m.mu.Lock()
	m.dials = append(m.dials, addr)
	to := m.leads[addr]
	m.mu.Unlock()
	if to == nil {
		return nil, fmt.Errorf("connection refused by %s", addr)
	}
	return to.dial(ctx, network, addr)
}

// lead makes an address lead to the server that has these pipes, or nowhere if to is nil.
func (m *managed) lead(addr string, to *pipes) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.leads[addr] = to
}

// dialed returns the addresses that were dialed.
func (m *managed) dialed() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.dials)
}

// Do sends a command with the key k and waits for the reply.
func (m *managed) Do(cmd string) any { return redis.Sync{S: m.conn}.Do(cmd, "k") }

// maintained runs a test in virtual time, with a connection to the first server.
func maintained(t *testing.T, test func(t *testing.T, m *managed)) {
	maintainedWith(t, redisconn.Opts{}, test)
}

func maintainedWith(t *testing.T, opts redisconn.Opts, test func(t *testing.T, m *managed)) {
	Run(t, func(t *testing.T) {
		m := &managed{leads: map[string]*pipes{}, held: make(chan struct{})}
		server := func(name, addr string) *chaos.ScriptedServer {
			to := newPipes(addr)
			m.lead(addr, to)
			return chaos.NewScripted(t, chaos.ScriptedOpts{Listener: to, Handler: func(c *chaos.ScriptedConn, r chaos.ScriptedRequest) error {
				switch r.Cmd {
				case "ECHO":
					<-m.held
				case "END":
					return net.ErrClosed
				case "LAST":
					_, _ = c.Write([]byte(chaos.ScriptedBulk(name) + ">4\r\n+MOVING\r\n:1\r\n:60\r\n+" + newAddr + "\r\n"))
					return net.ErrClosed
				}
				_, err := c.Write([]byte(chaos.ScriptedBulk(name)))
				return err
			}})
		}
		m.old, m.new = server("old", oldAddr), server("new", newAddr)
		var err error
		opts.Protocol, opts.Dialer, opts.Logger = 3, m.dial, redisconn.NoopLogger{}
		m.conn, err = redisconn.Connect(t.Context(), oldAddr, opts)
		require.NoError(t, err)
		defer m.conn.Close()
		require.Equal(t, []byte("old"), m.Do("GET"))
		test(t, m)
	})
}

// announce sends a push with the elements, and waits until the connection has acted on it.
func (m *managed) announce(elements ...string) {
	m.old.Broadcast([]byte(fmt.Sprintf(">%d\r\n%s\r\n", len(elements), strings.Join(elements, "\r\n"))))
	time.Sleep(10 * time.Millisecond)
	synctest.Wait()
}

// The old server answers the requests in flight on the old socket. Later requests wait until then, and use
// the new socket. The connection dials the new address until the announced time, and then its own
// address again.
func TestHandOver(t *testing.T) {
	maintained(t, func(t *testing.T, m *managed) {
		before, after := make(chan any, 1), make(chan any, 1)
		go func() { before <- m.Do("ECHO") }()
		synctest.Wait()
		m.announce("+MOVING", ":1", ":15", "+"+newAddr)
		require.Equal(t, 1, m.new.Accepted(), "the new socket first")
		go func() { after <- m.Do("GET") }()
		time.Sleep(100 * time.Millisecond)
		require.Empty(t, after)
		close(m.held)
		require.Equal(t, []byte("old"), <-before)
		require.Equal(t, []byte("new"), <-after)
		require.Zero(t, m.conn.Stats().Disconnects)

		require.Error(t, redis.Err(m.Do("END")))
		time.Sleep(time.Second)
		require.Equal(t, []byte("new"), m.Do("GET"))
		time.Sleep(15 * time.Second)
		require.Error(t, redis.Err(m.Do("END")))
		time.Sleep(time.Second)
		require.Equal(t, []byte("old"), m.Do("GET"))
		require.Equal(t, []string{oldAddr, newAddr, newAddr, oldAddr}, m.dialed())
	})
}

// If the server announces no address, the connection dials its own address again when half of the
// announced time is over.
func TestHandOverToSameAddress(t *testing.T) {
	maintained(t, func(t *testing.T, m *managed) {
		m.announce("+MOVING", ":1", ":10", "_")
		time.Sleep(4900 * time.Millisecond)
		require.Len(t, m.dialed(), 1)
		m.lead(oldAddr, m.leads[newAddr]) // from now on the old address leads to the new server
		time.Sleep(100 * time.Millisecond)
		require.Equal(t, []byte("new"), m.Do("GET"))
		require.Equal(t, []string{oldAddr, oldAddr}, m.dialed())
		require.Zero(t, m.conn.Stats().Disconnects)
	})
}

// If no server answers at the new address, the connection uses the old socket until the old server closes
// it.
func TestHandOverFails(t *testing.T) {
	maintained(t, func(t *testing.T, m *managed) {
		m.lead(newAddr, nil)
		m.announce("+MOVING", ":1", ":15", "+"+newAddr)
		for range 30 {
			require.Equal(t, []byte("old"), m.Do("GET"))
			time.Sleep(time.Second)
		}
		tried := len(m.dialed())
		require.Greater(t, tried, 4)
		require.Less(t, tried, 20)
		require.Error(t, redis.Err(m.Do("END")))
		time.Sleep(time.Second)
		require.Equal(t, []byte("old"), m.Do("GET"))
		require.Equal(t, oldAddr, m.dialed()[tried])
	})
}

// The address that the server announced last wins: while no server answers at an earlier address, and also while
// the socket there waits for the answers of the old server.
func TestNewestAddressWins(t *testing.T) {
	maintained(t, func(t *testing.T, m *managed) {
		m.announce("+MOVING", ":1", ":15", "+10.2.0.3:6379")
		m.announce("+MOVING", ":2", ":15", "+"+newAddr)
		require.Equal(t, []byte("new"), m.Do("GET"))
		require.Equal(t, []string{oldAddr, "10.2.0.3:6379", newAddr}, m.dialed())
	})
	maintained(t, func(t *testing.T, m *managed) {
		answer := make(chan any, 1)
		go func() { answer <- m.Do("ECHO") }()
		synctest.Wait()
		m.announce("+MOVING", ":1", ":15", "+"+newAddr)
		m.announce("+MOVING", ":2", ":15", "+"+newAddr)
		m.announce("+MOVING", ":3", ":15", "+"+oldAddr)
		close(m.held)
		require.Equal(t, []byte("old"), <-answer)
		require.Equal(t, []byte("old"), m.Do("GET"))
		require.Equal(t, []string{oldAddr, newAddr, oldAddr}, m.dialed())
		require.Equal(t, 2, m.old.Accepted())
		require.Zero(t, m.conn.Stats().Disconnects)
	})
	maintained(t, func(t *testing.T, m *managed) {
		answer := make(chan any, 1)
		go func() { answer <- m.Do("ECHO") }()
		synctest.Wait()
		m.announce("+MOVING", ":1", ":15", "+"+newAddr)
		m.announce("+MOVING", ":2", ":10", "_")
		time.Sleep(5 * time.Second)
		close(m.held)
		require.Equal(t, []byte("old"), <-answer)
		require.Equal(t, []byte("old"), m.Do("GET"))
		require.Equal(t, []string{oldAddr, newAddr, oldAddr}, m.dialed(), "no address: the connection's own one")
	})
}

// A session has failed while its reader was in a user's future. An announcement that comes behind the last answer of
// that session does not concern the session that has replaced it.
func TestAnnouncementOfFailedSession(t *testing.T) {
	maintained(t, func(t *testing.T, m *managed) {
		resolving, release := make(chan any, 1), make(chan struct{})
		m.conn.Send(redis.Req("LAST", "k"), redis.FuncFuture(func(res any, _ uint64) { resolving <- res; <-release }), 0)
		require.Equal(t, []byte("old"), <-resolving)
		require.Error(t, redis.Err(m.Do("GET")))
		time.Sleep(time.Second)
		require.Equal(t, []byte("old"), m.Do("GET"))
		close(release)
		time.Sleep(time.Second)
		require.Equal(t, []byte("old"), m.Do("GET"))
		require.Equal(t, []string{oldAddr, oldAddr}, m.dialed())
	})
}

// An announcement may be repeated with a later time: while no server answers at the
// new address, and while the connection waits for the answers of the old server.
func TestLaterTimeCounts(t *testing.T) {
	maintained(t, func(t *testing.T, m *managed) {
		to := m.leads[newAddr]
		m.lead(newAddr, nil)
		m.announce("+MOVING", ":1", ":3", "+"+newAddr)
		m.announce("+MOVING", ":2", ":60", "+"+newAddr)
		time.Sleep(5 * time.Second)
		m.lead(newAddr, to)
		time.Sleep(30 * time.Second)
		require.Equal(t, []byte("new"), m.Do("GET"))
	})
	maintained(t, func(t *testing.T, m *managed) {
		answer := make(chan any, 1)
		go func() { answer <- m.Do("ECHO") }()
		synctest.Wait()
		m.announce("+MOVING", ":1", ":3", "+"+newAddr)
		m.announce("+MOVING", ":2", ":60", "+"+newAddr)
		close(m.held)
		require.Equal(t, []byte("old"), <-answer)
		require.Equal(t, []byte("new"), m.Do("GET"))
		require.Equal(t, []string{oldAddr, newAddr}, m.dialed())
		time.Sleep(30 * time.Second)
		require.Error(t, redis.Err(m.Do("END")))
		time.Sleep(time.Second)
		require.Equal(t, []string{oldAddr, newAddr, newAddr}, m.dialed(), "the connection's own address does not lead there yet")
	})
	maintained(t, func(t *testing.T, m *managed) {
		m.announce("+MOVING", ":1", ":10", "_")
		m.announce("+MOVING", ":2", ":60", "_")
		time.Sleep(29 * time.Second)
		m.lead(oldAddr, m.leads[newAddr])
		time.Sleep(2 * time.Second)
		require.Equal(t, []byte("new"), m.Do("GET"))
		require.Equal(t, []string{oldAddr, oldAddr}, m.dialed(), "the earlier time does not count any more")
	})
}

// Without a time-out, requests wait for the answers of the old server until the announced time, and are then
// written to the old socket.
func TestHandOverGivesUp(t *testing.T) {
	maintainedWith(t, redisconn.Opts{IOTimeout: -1, Heartbeat: -1}, func(t *testing.T, m *managed) {
		answers := make(chan any, 2)
		go func() { answers <- m.Do("ECHO") }()
		synctest.Wait()
		m.announce("+MOVING", ":1", ":15", "+"+newAddr)
		go func() { answers <- m.Do("GET") }()
		synctest.Wait()
		written := m.conn.Stats().WrittenRequests
		time.Sleep(14 * time.Second)
		require.Equal(t, written, m.conn.Stats().WrittenRequests)
		time.Sleep(time.Second)
		synctest.Wait()
		require.Equal(t, written+1, m.conn.Stats().WrittenRequests)
		close(m.held)
		require.Equal(t, []byte("old"), <-answers)
		require.Equal(t, []byte("old"), <-answers)
	})
}

// The results of users' futures come in the order of the requests, although two sockets bring them.
func TestResultsOfTwoSocketsInOrder(t *testing.T) {
	maintained(t, func(t *testing.T, m *managed) {
		results, returns := make(chan any, 2), make(chan struct{})
		m.conn.Send(redis.Req("ECHO", "a"), redis.FuncFuture(func(res any, _ uint64) {
			results <- res
			<-returns
		}), 0)
		synctest.Wait()
		m.announce("+MOVING", ":1", ":15", "+"+newAddr)
		m.conn.Send(redis.Req("GET", "k"), redis.FuncFuture(func(res any, _ uint64) { results <- res }), 0)
		close(m.held)
		require.Equal(t, []byte("old"), <-results)
		time.Sleep(100 * time.Millisecond)
		require.Empty(t, results, "the future before it has not returned")
		close(returns)
		require.Equal(t, []byte("new"), <-results)
	})
}

// A malformed announcement does not move the connection.
func TestMalformedMoving(t *testing.T) {
	maintained(t, func(t *testing.T, m *managed) {
		for _, rest := range []string{
			"", ":1", ":1 :0", ":1 :-5", ":1 +15", ":1 :9223372036854775807", ":1 :15 :7", ":1 :15 +", ":1 :15 +/tmp/socket",
			":1 :15 +" + strings.Repeat("x", 300) + ":1", ":1 :15 +host", ":1 :15 +tcp://10.2.0.2:6379", ":1 :15 +host:0", ":1 :15 *0",
		} {
			m.announce(append([]string{"+MOVING"}, strings.Fields(rest)...)...)
			time.Sleep(time.Minute)
		}
		require.Equal(t, []string{oldAddr}, m.dialed())
		require.Equal(t, []byte("old"), m.Do("GET"))
	})
}

// During maintenance the server may take up to ten seconds to answer. This applies until the maintenance
// ends, or for a minute.
func TestRelaxedTimeout(t *testing.T) {
	for name, tt := range map[string]struct {
		announced [][]string
		after     time.Duration // the last announcement
		answered  bool
	}{
		"not announced":      {},
		"a migration":        {announced: [][]string{{"+MIGRATING", ":1", ":5", "*1\r\n+1"}}, answered: true},
		"a failover":         {announced: [][]string{{"+FAILING_OVER", ":1", ":5", "*1\r\n+1"}}, after: 30 * time.Second, answered: true},
		"moving slots":       {announced: [][]string{{"+SMIGRATING", ":1", "+1,2-5"}}, answered: true},
		"the end is missing": {announced: [][]string{{"+MIGRATING", ":1", ":5", "*1\r\n+1"}}, after: 66 * time.Second},
		"it is over":         {announced: [][]string{{"+FAILING_OVER", ":1", ":5", "*1\r\n+1"}, {"+FAILED_OVER", ":2", "*1\r\n+1"}}, after: 2 * time.Second},
		"malformed":          {announced: [][]string{{"+MIGRATING"}}, answered: true},
	} {
		t.Run(name, func(t *testing.T) {
			maintained(t, func(t *testing.T, m *managed) {
				for _, elements := range tt.announced {
					m.announce(elements...)
				}
				time.Sleep(tt.after)
				answer := make(chan any, 1)
				go func() { answer <- m.Do("ECHO") }()
				time.Sleep(8 * time.Second)
				close(m.held)
				err := redis.Err(<-answer)
				require.Equal(t, tt.answered, err == nil, "%v", err)
			})
		})
	}
}
