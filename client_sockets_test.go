package redispipe_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe"
	"github.com/joomcode/redispipe/internal/lab/drill"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscache"
	"github.com/joomcode/redispipe/rediscluster"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redispubsub"
	"github.com/joomcode/redispipe/redisvirtual"
	"github.com/joomcode/redispipe/testbed"
)

// dialer counts the sockets that are open.
type dialer struct{ open atomic.Int64 }

func (d *dialer) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	d.open.Add(1)
	return &dialed{Conn: conn, closed: sync.OnceFunc(func() { d.open.Add(-1) })}, nil
}

type dialed struct {
	net.Conn
	closed func()
}

func (d *dialed) Close() error {
	d.closed()
	return d.Conn.Close()
}

// socketOwner is a feature that opens sockets, or uses the shared one. prepare opens the sockets, and
// returns a function that sends a request and waits for the reply.
type socketOwner struct {
	name    string
	sockets int64
	prepare func(t *testing.T, c *redispipe.Client) (use func() error)
}

// socketOwners are all features that send or receive on sockets of a client. Each package that
// opens sockets imports internal/dial; .golangci.yml lists these packages.
var socketOwners = []socketOwner{
	{"shared connection", 0, func(_ *testing.T, c *redispipe.Client) func() error {
		return func() error { return is("v", c.Do(context.Background(), "GET", "key")) }
	}},
	{"tracker", 1, func(t *testing.T, c *redispipe.Client) func() error {
		cache, err := rediscache.New(c, rediscache.Opts{Prefixes: []string{""}})
		require.NoError(t, err)
		sync := redis.SyncCtx{S: cache}
		for n := 0; cache.Stats().Misses == 0; n++ {
			require.NoError(t, redis.AsError(sync.Do(t.Context(), "GET", fmt.Sprint("{key}", n))))
		}
		return func() error { return is("v", sync.Do(context.Background(), "GET", "key")) }
	}},
	{"session", 1, func(t *testing.T, c *redispipe.Client) func() error {
		s, err := redis.OpenSession(t.Context(), c, "key")
		require.NoError(t, err)
		return func() error {
			defer s.Close()
			return is("v", s.Do("GET", "key"))
		}
	}},
	{"blocking command", 1, func(t *testing.T, c *redispipe.Client) func() error {
		ended := make(chan any, 1)
		go func() { ended <- c.Do(context.Background(), "BLPOP", "{key}list", 0) }()
		require.Eventually(t, func() bool {
			info, _ := redis.SyncCtx{S: connOf(c)}.Do(t.Context(), "INFO", "clients").([]byte)
			return bytes.Contains(info, []byte("blocked_clients:1"))
		}, time.Minute, time.Millisecond)
		return func() error {
			if err := redis.AsErrorx(<-ended); !err.IsOfType(redis.ErrContextClosed) || redis.OutcomeOf(err) != redis.OutcomeNotSent {
				return fmt.Errorf("it should have been unblocked: %w", err)
			}
			return nil
		}
	}},
	{"DoStream", 1, func(t *testing.T, c *redispipe.Client) func() error {
		begun, read := make(chan struct{}), make(chan struct{})
		w := &slow{begun: sync.OnceFunc(func() { close(begun) }), read: read}
		require.NoError(t, redis.AsError(c.Do(t.Context(), "SET", "{key}long", make([]byte, long))))
		ended := make(chan any, 1)
		go func() { ended <- connOf(c).DoStream(context.Background(), w, "GET", "{key}long") }()
		<-begun
		return func() error {
			close(read)
			if n := <-ended; n != int64(long) || w.Len() != long {
				return fmt.Errorf("%v", n)
			}
			return nil
		}
	}},
	{"subscriber", 1, func(t *testing.T, c *redispipe.Client) func() error {
		sub := c.Subscriber().NewSubscription(redispubsub.SubscriptionOpts{})
		require.NoError(t, sub.Subscribe(t.Context(), redispubsub.Channel("{key}")))
		return func() error {
			for _, err := range sub.Events(context.Background()) {
				if err != nil && !redis.AsErrorx(err).IsOfType(redispubsub.ErrClosed) {
					return fmt.Errorf("it should have been closed: %w", err)
				}
			}
			return nil
		}
	}},
	{"virtual connection", 0, func(t *testing.T, c *redispipe.Client) func() error {
		return virtual(t, c, "", "GET key\r\n", "$1\r\nv\r\n")
	}},
	{"virtual connection in a session", 1, func(t *testing.T, c *redispipe.Client) func() error {
		return virtual(t, c, "WATCH key\r\n", "MULTI\r\nGET key\r\nEXEC\r\n", "+OK\r\n+OK\r\n+QUEUED\r\n*1\r\n$1\r\nv\r\n")
	}},
	{"virtual connection with its own socket", 1, func(t *testing.T, c *redispipe.Client) func() error {
		return virtual(t, c, "SUBSCRIBE x\r\n", "PING\r\n", "*3\r\n$9\r\nsubscribe\r\n$1\r\nx\r\n:1\r\n*2\r\n$4\r\npong\r\n$0\r\n\r\n")
	}},
}

// long is the length of a value that does not fit into any buffer.
const long = 32 << 20

// slow is a writer that blocks until the test releases it.
type slow struct {
	bytes.Buffer
	begun func()
	read  chan struct{}
}

func (s *slow) Write(p []byte) (int, error) {
	s.begun()
	<-s.read
	return s.Buffer.Write(p)
}

func is(want string, res any) error {
	if value, ok := res.([]byte); !ok || string(value) != want {
		return fmt.Errorf("%v", res)
	}
	return nil
}

// virtual writes first to a new virtual connection. It returns a function that writes then, and
// returns when the replies to both have arrived.
func virtual(t *testing.T, c *redispipe.Client, first, then, replies string) func() error {
	v := redisvirtual.Conn(c)
	t.Cleanup(func() { _ = v.Close() })
	r := bufio.NewReader(v)
	if first != "" {
		_, err := io.WriteString(v, first)
		require.NoError(t, err)
		_, err = r.Peek(1)
		require.NoError(t, err)
	}
	return func() error {
		if _, err := io.WriteString(v, then); err != nil {
			return err
		}
		got := make([]byte, len(replies))
		if _, err := io.ReadFull(r, got); err != nil || string(got) != replies {
			return fmt.Errorf("%q: %w", got, err)
		}
		return nil
	}
}

// connOf returns the connection to the client's only master.
func connOf(c *redispipe.Client) (conn *redisconn.Connection) {
	if conn = c.Connection(); conn != nil {
		return conn
	}
	c.Cluster().EachShard(func(s redis.Sender, _ error) bool {
		conn, _ = s.(*redisconn.Connection)
		return true
	})
	return conn
}

// Shutdown waits for the requests in flight on the sockets of each owner, and leaves none of these
// sockets open.
func TestShutdownOfAllSockets(t *testing.T) {
	drill.Rotate(t)
	server, nodes := testbed.NewServer(t), testbed.NewCluster(t, testbed.ClusterOptions{Masters: 1, Replicas: -1})
	group := testbed.NewGroup(t, testbed.GroupOptions{Replicas: -1, Sentinels: 1, DownAfter: time.Hour})
	shutDown(t, "redis://"+server.Addr(), server, 1, socketOwners)
	shutDown(t, "redis-cluster://"+nodes.Addrs()[0], nodes.Node(0).Server, 1, socketOwners)
	// A client has two sockets to a sentinel: one asks, and one receives messages.
	shutDown(t, "redis-sentinel://"+group.SentinelAddrs()[0]+"/mymaster", group.Servers()[0], 3, socketOwners)
}

// Shutdown waits for each owner of a socket, even if there is nothing else to wait for.
func TestShutdownOfEachSocket(t *testing.T) {
	drill.Rotate(t)
	server := testbed.NewServer(t)
	for _, o := range socketOwners {
		shutDown(t, "redis://"+server.Addr(), server, 1, []socketOwner{o})
	}
}

// shutDown shuts down a client while all owners use their sockets and the master is frozen. sockets
// is the number of sockets that the client has at first.
func shutDown(t *testing.T, url string, master *testbed.Server, sockets int64, owners []socketOwner) {
	t.Helper()
	var d dialer
	options := func(o *redisconn.Opts) { o.Dialer, o.IOTimeout = d.dial, time.Minute }
	c, err := redispipe.Open(t.Context(), url, redispipe.Logger(nil), redispipe.Conn(options),
		redispipe.Cluster(func(o *rediscluster.Opts) {
			options(&o.SentinelOpts)
			o.ConnsPerHost = 1
		}))
	require.NoError(t, err)
	require.NoError(t, redis.AsError(c.Do(t.Context(), "SET", "key", "v")))
	require.Eventually(t, func() bool { return d.open.Load() == sockets }, time.Minute, time.Millisecond, url)
	conn := connOf(c)
	uses, pending := map[string]func() error{}, 0
	for _, o := range owners {
		before := d.open.Load()
		uses[o.name] = o.prepare(t, c)
		require.Equal(t, o.sockets, d.open.Load()-before, "%s: %s", url, o.name)
		if o.name != "subscriber" { // Shutdown does not wait for subscribers
			pending++
		}
	}
	require.NoError(t, master.Pause())
	answers := map[string]chan error{}
	for name, use := range uses {
		answer := make(chan error, 1)
		answers[name] = answer
		go func() { answer <- use() }()
	}
	require.Eventually(t, func() bool { return conn.Pending() == pending }, time.Minute, time.Millisecond)
	ended := make(chan error, 1)
	go func() { ended <- c.Shutdown(context.Background()) }()
	require.Eventually(t, func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		return redis.AsErrorx(conn.DoStream(ctx, nil, "PING")).IsOfType(redis.ErrContextClosed)
	}, time.Minute, time.Millisecond)
	if pending > 0 { // a Shutdown that returns later, before the answers, ends the requests with errors
		require.Empty(t, ended, "%s: %v", url, owners[0].name)
	}
	require.NoError(t, master.Resume())
	for name, answer := range answers {
		require.NoError(t, <-answer, "%s: %s", url, name)
	}
	require.NoError(t, <-ended)
	require.Eventually(t, func() bool { return d.open.Load() == 0 }, time.Minute, time.Millisecond, url)
	requireNoneLeft(t)
}
