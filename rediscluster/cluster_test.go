package rediscluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

// patience bounds every wait of these tests. It is long enough for a busy machine.
const patience = time.Minute

// recorder is a Logger that counts answers and records events.
type recorder struct {
	mu      sync.Mutex
	answers map[string]int // by address
	replies map[string]int // the number of error replies, by their first word
	events  []LogEvent
}

func newRecorder() *recorder {
	return &recorder{answers: map[string]int{}, replies: map[string]int{}}
}

func (r *recorder) Report(_ *Cluster, event LogEvent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, event)
}

func (r *recorder) ReqStat(_ *Cluster, conn *redisconn.Connection, req Request, res any, _, _, _ int64) {
	switch req.Cmd {
	case "ASKING", "PING", "CLUSTER SLOTS", "CLUSTER NODES", "INFO", "SMEMBERS":
		return // a request of the cluster itself
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answers[conn.Addr()]++
	if err := redis.AsErrorx(res); err != nil {
		word, _, _ := strings.Cut(err.Message(), " ")
		r.replies[word]++
	}
}

// take returns the counts, and resets them.
func (r *recorder) take() (answers, replies map[string]int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	answers, replies = r.answers, r.replies
	r.answers, r.replies = map[string]int{}, map[string]int{}
	return answers, replies
}

// seen reports whether f returns true for an event.
func (r *recorder) seen(f func(LogEvent) bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, event := range r.events {
		if f(event) {
			return true
		}
	}
	return false
}

// disconnects returns how often connections to addr were lost.
func (r *recorder) disconnects(addr string) (n int) {
	r.seen(func(e LogEvent) bool {
		host, ok := e.(LogHostEvent)
		if !ok || host.Conn.Addr() != addr {
			return false
		}
		if _, lost := host.Event.(redisconn.LogDisconnected); lost {
			n++
		}
		return false
	})
	return n
}

// connect makes a Cluster with a recorder. It closes the Cluster at the end of the test, and checks
// that no goroutine is left. The default time-out is as long as the test, because most tests are
// not about slow servers. A shorter time-out also bounds dialing. It may pass because the process
// did not run; then connect dials again.
func connect(t testing.TB, addrs []string, opts Opts) (*Cluster, *recorder) {
	t.Helper()
	rec := newRecorder()
	if opts.Logger == nil {
		opts.Logger = rec
	}
	if opts.HostOpts.IOTimeout == 0 {
		opts.HostOpts.IOTimeout = patience
	}
	watchLeaks(t)
	c, err := NewCluster(context.Background(), addrs, opts)
	for began := time.Now(); err != nil && time.Since(began) < patience; {
		c, err = NewCluster(context.Background(), addrs, opts)
	}
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c, rec
}

// await waits for a condition.
func await(t testing.TB, what string, condition func() bool) {
	t.Helper()
	require.Eventually(t, condition, patience, 2*time.Millisecond, what)
}

// owner returns the slot of a key, and its master.
func owner(t testing.TB, tb *testbed.Cluster, key string) (slot int, n *testbed.Node) {
	t.Helper()
	slot, err := tb.Slot(key)
	require.NoError(t, err)
	n, err = tb.Owner(slot)
	require.NoError(t, err)
	return slot, n
}

// awaitOwner waits until the topology has a node as the master of a slot.
func awaitOwner(t testing.TB, c *Cluster, slot int, n *testbed.Node) {
	t.Helper()
	await(t, "new topology", func() bool {
		s := c.topology.Load().Shard(slot)
		return s != nil && s.Master.Addr == n.Addr()
	})
}

// another returns a master that is not n.
func another(t testing.TB, tb *testbed.Cluster, n *testbed.Node) *testbed.Node {
	t.Helper()
	masters, err := tb.Masters()
	require.NoError(t, err)
	for _, m := range masters {
		if m != n {
			return m
		}
	}
	t.Fatal("no other master")
	return nil
}

// replica returns a replica of n.
func replica(t testing.TB, tb *testbed.Cluster, n *testbed.Node) *testbed.Node {
	t.Helper()
	replicas, err := tb.Replicas(n)
	require.NoError(t, err)
	require.NotEmpty(t, replicas)
	return replicas[0]
}

// isType asserts that a result is an error of the type want.
func isType(t testing.TB, want interface{ String() string }, res any) {
	t.Helper()
	err := redis.AsErrorx(res)
	require.NotNil(t, err, "%v is no error", res)
	assert.Equal(t, want.String(), err.Type().String(), "%v", err)
}

func TestNewCluster(t *testing.T) {
	tb := sharedCluster(t)
	c, rec := connect(t, tb.Addrs()[:1], Opts{Handle: "mine"})
	assert.Equal(t, tb.Node(0).Addr(), c.Name())
	assert.Equal(t, "mine", c.Handle())
	assert.Contains(t, c.String(), tb.Node(0).Addr())
	assert.NoError(t, c.Ctx().Err())
	assert.True(t, rec.seen(func(e LogEvent) bool { _, ok := e.(LogTopologyChanged); return ok }))

	await(t, "the first connection of each master", func() bool { // the second connection of a master may be up before the first
		handles := map[ClusterHandle]bool{}
		c.EachShard(func(s redis.Sender, err error) bool {
			assert.NoError(t, err)
			handles[s.(*redisconn.Connection).Handle().(ClusterHandle)] = true
			return err == nil
		})
		for _, n := range tb.Nodes()[:3] {
			if !handles[ClusterHandle{Handle: "mine", Address: n.Addr(), N: 0}] {
				return false
			}
		}
		return true
	})
}

func TestNewClusterBadInput(t *testing.T) {
	watchLeaks(t)
	_, err := NewCluster(nil, []string{"127.0.0.1:1"}, Opts{}) //nolint:staticcheck // a nil context is the case
	isType(t, redis.ErrContextIsNil, err)
	_, err = NewCluster(context.Background(), nil, Opts{})
	isType(t, redis.ErrNoAddressProvided, err)
	quiet := Opts{Logger: NoopLogger{}}
	_, err = NewCluster(context.Background(), []string{"no-port"}, quiet)
	isType(t, ErrAddressHostname, err)
	_, err = NewCluster(context.Background(), []string{"host.invalid:6379"}, quiet)
	isType(t, ErrAddressNotResolved, err)
	_, err = NewCluster(context.Background(), []string{"127.0.0.1:1"}, quiet)
	isType(t, redisconn.ErrDial, err)

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = NewCluster(ctx, []string{"127.0.0.1:1"}, quiet)
	require.ErrorIs(t, err, context.Canceled)
	noLeaks(t)
}

func TestNotACluster(t *testing.T) {
	watchLeaks(t)
	server := testbed.NewServer(t)
	_, err := NewCluster(context.Background(), []string{server.Addr()}, Opts{Logger: NoopLogger{}})
	isType(t, ErrClusterSlots, err)
	assert.Contains(t, err.Error(), "cluster support disabled")
	noLeaks(t)
}

func TestClose(t *testing.T) {
	tb := sharedMasters.of(t)
	c, rec := connect(t, tb.Addrs(), Opts{HostOpts: redisconn.Opts{IOTimeout: 3 * patience}})
	require.NoError(t, tb.Node(1).Pause())
	defer func() { _ = tb.Node(1).Resume() }()
	const requests = 3000
	results := make(chan any, requests+1)
	for i := range requests {
		c.Send(redis.Req("INCR", fmt.Sprintf("key:%d", i)), redis.FuncFuture(func(res any, _ uint64) { results <- res }), 0)
	}
	c.Close()
	c.Close()
	failed := 0
	for range requests {
		select {
		case res := <-results:
			if err := redis.AsErrorx(res); err != nil {
				failed++
				assert.True(t, err.IsOfType(redis.ErrContextClosed) || err.IsOfType(redis.ErrIO), "%v", err)
			}
		case <-time.After(patience):
			t.Fatal("lost")
		}
	}
	assert.Positive(t, failed)
	assert.Error(t, c.Ctx().Err())
	for _, res := range []any{
		redis.Sync{S: c}.Do("GET", "x"),
		redis.Sync{S: c}.Do("PING"),
		redis.Sync{S: c}.SendMany([]redis.Request{redis.Req("GET", "x"), redis.Req("GET", "y")})[1],
		redis.AsError(func() any {
			_, err := redis.Sync{S: c}.SendTransaction([]redis.Request{redis.Req("GET", "x")})
			return err
		}()),
	} {
		isType(t, redis.ErrContextClosed, res)
		assert.True(t, redis.AsErrorx(res).HasTrait(redis.ErrTraitNotSent))
	}
	await(t, "the event", func() bool {
		return rec.seen(func(e LogEvent) bool {
			closed, ok := e.(LogContextClosed)
			return ok && closed.Error.Error() == "Close was called" && errors.Is(closed.Error, context.Canceled)
		})
	})
}

func TestContextEnds(t *testing.T) {
	tb := sharedCluster(t)
	watchLeaks(t)
	ctx, cancel := context.WithCancel(context.Background())
	c, err := NewCluster(ctx, tb.Addrs(), Opts{Logger: NoopLogger{}})
	require.NoError(t, err)
	cancel()
	await(t, "the end", func() bool { return c.closed.Load() })
	closed := redis.AsErrorx(redis.Sync{S: c}.Do("PING"))
	isType(t, redis.ErrContextClosed, closed)
	assert.True(t, redis.CausedBy(closed, context.Canceled), "%v", closed)
	noLeaks(t)
}

// A context with a deadline bounds only the constructor. After that it may expire or be cancelled.
func TestContextWithDeadline(t *testing.T) {
	tb := sharedCluster(t)
	watchLeaks(t)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	rec := &recorder{}
	c, err := NewCluster(ctx, tb.Addrs(), Opts{Logger: rec})
	require.NoError(t, err)
	outlived := func(e LogEvent) bool { _, is := e.(LogContextOutlived); return is }
	assert.False(t, rec.seen(outlived))
	cancel()
	await(t, "the event", func() bool { return rec.seen(outlived) })
	require.NoError(t, c.Ctx().Err())
	assert.Equal(t, "OK", redis.Sync{S: c}.Do("SET", "x", 1))
	c.Close()
	closed := redis.AsErrorx(redis.Sync{S: c}.Do("PING"))
	isType(t, redis.ErrContextClosed, closed)
	assert.False(t, redis.CausedBy(closed, context.Canceled), "%v", closed)
	noLeaks(t)
}

// The context also bounds the refresh after the first layout. If it ends then, NewCluster does not
// fail.
func TestDeadlineInTheFirstRefresh(t *testing.T) {
	tb := sharedCluster(t)
	watchLeaks(t)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var dials atomic.Int32
	c, err := NewCluster(ctx, tb.Addrs()[:1], Opts{Logger: NoopLogger{}, HostOpts: redisconn.Opts{
		IOTimeout: time.Hour, DialTimeout: time.Hour,
		Dialer: func(dialing context.Context, network, addr string) (net.Conn, error) {
			if dials.Add(1) > 1 { // the first dial has led to the first layout
				cancel()
				<-dialing.Done()
				return nil, dialing.Err()
			}
			return new(net.Dialer).DialContext(dialing, network, addr)
		},
	}})
	require.NoError(t, err)
	require.NoError(t, c.Ctx().Err())
	c.Close()
	noLeaks(t)
}

// TestAllocations: a request costs at most one allocation more than on a single
// connection.
func TestAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	tb := sharedCluster(t)
	_, n := owner(t, tb, "key")
	conn, err := redisconn.Connect(context.Background(), n.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
	require.NoError(t, err)
	defer conn.Close()
	c, _ := connect(t, tb.Addrs(), Opts{
		Logger: NoopLogger{}, HostOpts: redisconn.Opts{Logger: redisconn.NoopLogger{}},
	})
	val := strings.Repeat("x", 16)
	count := func(s redis.Sync) (set, get float64) {
		s.Do("SET", "key", val)
		set = testing.AllocsPerRun(2000, func() { s.Do("SET", "key", val) })
		return set, testing.AllocsPerRun(2000, func() { s.Do("GET", "key") })
	}
	set, get := count(redis.Sync{S: conn})
	clusterSet, clusterGet := count(redis.Sync{S: c})
	t.Log("SET", set, clusterSet, "GET", get, clusterGet)
	assert.LessOrEqual(t, clusterSet, set+1)
	assert.LessOrEqual(t, clusterGet, get+1)
}

// BenchmarkCluster runs the same load on a cluster of three masters and on a
// single server. The figure to compare is the client's own CPU time per request.
func BenchmarkCluster(b *testing.B) {
	tb := testbed.NewCluster(b)
	c, _ := connect(b, tb.Addrs(), Opts{Logger: NoopLogger{}})
	server := testbed.NewServer(b)
	conn, err := redisconn.Connect(context.Background(), server.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
	require.NoError(b, err)
	b.Cleanup(conn.Close)
	keys := make([]string, 1024)
	for i := range keys {
		keys[i] = fmt.Sprintf("key:%d", i)
	}
	for _, goroutines := range []int{1, 8, 128, 1000} {
		for name, s := range map[string]redis.Sync{"cluster": {S: c}, "single": {S: conn}} {
			b.Run(fmt.Sprintf("%s/%d", name, goroutines), func(b *testing.B) {
				var next atomic.Int64
				var all sync.WaitGroup
				b.ReportAllocs()
				b.ResetTimer()
				began := processCPU()
				for g := range goroutines {
					all.Go(func() {
						for i := g; next.Add(1) <= int64(b.N); i++ {
							if i%2 == 0 {
								s.Do("SET", keys[i%1024], "0123456789abcdef")
							} else {
								s.Do("GET", keys[i%1024])
							}
						}
					})
				}
				all.Wait()
				b.ReportMetric(float64(processCPU()-began)/float64(b.N), "client-ns/op")
			})
		}
	}
}
