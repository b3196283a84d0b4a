package redispipe_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe"
	"github.com/joomcode/redispipe/internal/lab/drill"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscache"
	"github.com/joomcode/redispipe/rediscluster"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redispubsub"
	"github.com/joomcode/redispipe/testbed"
)

// TestTopologies uses clients of each kind of server in the same way.
func TestTopologies(t *testing.T) {
	drill.Rotate(t)
	server := testbed.NewServer(t, testbed.Options{Unix: true})
	cluster := testbed.NewCluster(t, testbed.ClusterOptions{Replicas: -1})
	group := testbed.NewGroup(t, testbed.GroupOptions{Replicas: 1, Sentinels: 1})
	nodes := cluster.Addrs()
	for name, topology := range map[string]struct {
		url   string
		nodes int
	}{
		"server":            {"redis://" + server.Addr(), 1},
		"unix":              {"unix://" + server.UnixPath(), 1},
		"cluster":           {"redis-cluster://" + strings.Join(nodes, ","), 3},
		"cluster, go-redis": {"redis://" + nodes[0] + "?addr=" + nodes[1], 3},
		"sentinel":          {"redis-sentinel://" + group.SentinelAddrs()[0] + "/mymaster", 2},
		"replicated":        {"redis-replicated://" + strings.Join(group.Addrs(), ","), 2},
	} {
		t.Run(name, func(t *testing.T) {
			defer requireNoneLeft(t)
			for use, do := range map[string]func(*testing.T, string, int){
				"requests": useRequests, "hooks": useHooks, "stats": useStats, "subscriber": useSubscriber, "credentials": useCredentials, "shutdown": useShutdown,
			} {
				t.Run(use, func(t *testing.T) { do(t, topology.url, topology.nodes) })
			}
		})
	}
}

// A nil pointer, such as Cluster returns for a client of one server, is not a sender.
func TestNilPointers(t *testing.T) {
	ctx := context.Background()
	reqs := []redis.Request{redis.Req("GET", "key")}
	for name, s := range map[string]redis.Sender{
		"connection": (*redisconn.Connection)(nil), "cluster": (*rediscluster.Cluster)(nil), "client": (*redispipe.Client)(nil), "cache": (*rediscache.Cache)(nil),
		"hooked": redis.WithHook((*rediscluster.Cluster)(nil), redis.NewSlowLog(nil, 0)),
	} {
		_, transacted := redis.Sync{S: s}.Transact(reqs)
		_, scanned := redis.SyncCtx{S: s}.Scanner(ctx, redis.ScanOpts{}).Next()
		_, session := redis.OpenSession(ctx, s, "")
		for _, res := range []any{
			redis.Sync{S: s}.Do("GET", "key"), redis.SyncCtx{S: s}.SendMany(ctx, reqs)[0], transacted, scanned, session,
			redis.ChanFutured{S: s}.Send(reqs[0]).Value(), redis.NewScript("return 1").Load(ctx, s),
		} {
			assert.ErrorContains(t, redis.Err(res), "the sender is nil", name)
			assert.ErrorIs(t, redis.Err(res), redis.ErrNotSent, name)
		}
		_, err := rediscache.New(s, rediscache.Opts{})
		assert.True(t, redis.ErrOpts.IsNamespaceOf(redis.AsErrorx(err).Type()), name)
	}
}

// A program that ignores the error of Open uses a nil client. All requests of this client fail, and
// Close does nothing.
func TestNoClient(t *testing.T) {
	ctx := t.Context()
	reqs := []redis.Request{redis.Req("GET", "key")}
	for _, c := range []*redispipe.Client{nil, {}} {
		_, transacted := c.Transact(ctx, reqs)
		_, watched := c.Watch(ctx, []string{"key"}, func(*redis.Tx) error { return nil })
		for _, res := range []any{
			c.Do(ctx, "GET", "key"), c.DoInto(ctx, new(string), "GET", "key"), c.DoMany(ctx, reqs)[0], transacted, watched,
			c.Session(ctx, "key", func(*redis.Session) error { return nil }), c.Reauthenticate(ctx),
		} {
			require.ErrorContains(t, redis.Err(res), "the sender is nil")
			require.ErrorIs(t, redis.Err(res), redis.ErrNotSent)
		}
		require.Zero(t, c.Stats())
		require.Zero(t, c.Stats().Total.Queue.Quantile(0.5))
		require.ErrorContains(t, redis.AsError(c.WithPolicy(rediscluster.PreferSlaves).Do(ctx, "GET", "key")), "the sender is nil")
		require.NoError(t, c.Shutdown(ctx))
		c.Close()
	}
}

// open opens a client with a context that ends as soon as the client is open.
func open(t testing.TB, url string, opts ...redispipe.Option) *redispipe.Client {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	patient := redispipe.Conn(func(o *redisconn.Opts) { o.IOTimeout = time.Minute }) // the machine may stand still
	c, err := redispipe.Open(ctx, url, append([]redispipe.Option{redispipe.Logger(nil), patient}, opts...)...)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func useRequests(t *testing.T, url string, _ int) {
	ctx := t.Context()
	c := open(t, url)
	require.Equal(t, "OK", c.Do(ctx, "SET", "{k}n", 1))
	var n int
	require.NoError(t, c.DoInto(ctx, &n, "INCR", "{k}n"))
	require.Equal(t, 2, n)
	require.Equal(t, []any{int64(3), []byte("3")}, c.DoMany(ctx, []redis.Request{redis.Req("INCR", "{k}n"), redis.Req("GET", "{k}n")}))
	results, err := c.Transact(ctx, []redis.Request{redis.Req("INCR", "{k}n"), redis.Req("SET", "{k}s", "x")})
	require.NoError(t, err)
	require.Equal(t, []any{int64(4), "OK"}, results)

	results, err = c.Watch(ctx, []string{"{k}n"}, func(tx *redis.Tx) error {
		var n int
		if err := tx.DoInto(&n, "GET", "{k}n"); err != nil {
			return err
		}
		tx.Queue("SET", "{k}n", n*10)
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, []any{"OK"}, results)
	require.NoError(t, c.Session(ctx, "{k}n", func(s *redis.Session) error {
		return s.DoInto(&n, "GET", "{k}n")
	}))
	require.Equal(t, 40, n)

	// A client is also a Sender for functions of other packages.
	left, err := redis.As[int](redis.NewScript(`return redis.call('DECRBY', KEYS[1], ARGV[1])`).Do(ctx, c, []string{"{k}n"}, 2))
	require.NoError(t, err)
	require.Equal(t, 38, left)
	require.Equal(t, []byte("38"), redis.ChanFutured{S: c}.Send(redis.Req("GET", "{k}n")).Value())
	var keys []string
	for key, err := range redis.Keys(ctx, c, redis.ScanOpts{Match: "{k}*"}) {
		require.NoError(t, err)
		keys = append(keys, key)
	}
	require.ElementsMatch(t, []string{"{k}n", "{k}s"}, keys)
	require.Equal(t, int64(2), rediscluster.SendSplit(ctx, c, redis.Req("DEL", "{k}n", "{k}s")))

	reads := c.WithPolicy(rediscluster.PreferSlaves)
	require.NoError(t, redis.AsError(reads.Do(ctx, "GET", "{k}n")))
	require.Equal(t, c.Connection() == nil, c.Cluster() != nil)
	for _, unopened := range []*redispipe.Client{nil, {}} {
		require.Nil(t, unopened.Connection())
		require.Nil(t, unopened.Cluster())
	}
	reads.Close()
	require.Equal(t, redis.OutcomeNotSent, redis.OutcomeOf(c.Do(ctx, "GET", "k")), "they share their connections")
}

// callerHook records the operations that it is called around, and their contexts.
type callerHook struct {
	mu   sync.Mutex // guards seen
	seen []string
}

type callerKey struct{}

func (h *callerHook) Before(ctx context.Context, op redis.Operation) context.Context {
	caller, _ := ctx.Value(callerKey{}).(string)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seen = append(h.seen, caller+op.Command)
	return ctx
}

func (h *callerHook) After(context.Context, redis.Operation, redis.Completion) {}

func useHooks(t *testing.T, url string, _ int) {
	hook := &callerHook{}
	ctx := context.WithValue(t.Context(), callerKey{}, "my ")
	c := open(t, url, redispipe.Hooks(hook))
	c.Do(ctx, "GET", "k")
	c.WithPolicy(rediscluster.PreferSlaves).Do(ctx, "TTL", "k")
	redis.SyncCtx{S: c}.Do(ctx, "STRLEN", "k")
	_, err := c.Watch(ctx, []string{"k"}, func(*redis.Tx) error { return nil })
	require.NoError(t, err)
	_, err = redis.Watch(ctx, c, []string{"k"}, func(tx *redis.Tx) error { return redis.AsError(tx.Do("TYPE", "k")) })
	require.NoError(t, err)
	require.NoError(t, c.Subscriber().NewSubscription(redispubsub.SubscriptionOpts{}).Subscribe(ctx, redispubsub.Channel("c")))
	require.Equal(t, []string{"my GET", "my TTL", "my STRLEN", "my WATCH", "my WATCH", "my TYPE", "my SUBSCRIBE"}, hook.seen)
}

func useStats(t *testing.T, url string, nodes int) {
	c := open(t, url)
	for _, key := range []string{"a", "b", "c"} {
		c.Do(t.Context(), "GET", key)
	}
	c.Do(t.Context(), "INCR")
	stats := c.Stats()
	require.EqualValues(t, 3, stats.Total.Values)
	require.EqualValues(t, 1, stats.Total.Refused)
	require.Len(t, stats.Nodes, nodes)
	var sum redisconn.Stats
	for _, node := range stats.Nodes {
		require.NotEmpty(t, node.Addr)
		for _, conn := range node.Conns {
			sum.Merge(conn)
		}
	}
	require.Equal(t, stats.Total.Requests(), sum.Requests())
}

func useSubscriber(t *testing.T, url string, _ int) {
	ctx := t.Context()
	c := open(t, url)
	subscriber := c.Subscriber()
	require.Same(t, subscriber, c.WithPolicy(rediscluster.MasterAndSlaves).Subscriber())
	sub := subscriber.NewSubscription(redispubsub.SubscriptionOpts{})
	require.NoError(t, sub.Subscribe(ctx, redispubsub.Channel("news")))
	require.NoError(t, redis.AsError(c.Do(ctx, "PUBLISH", "news", "late")))
	messages := 0
	requireClosed(t, sub, func(m redispubsub.Message) {
		messages++
		require.Equal(t, "late", string(m.Payload))
		c.Close() // closes the subscriber, and so ends the subscription
	})
	require.Equal(t, 1, messages)
	err := c.Subscriber().NewSubscription(redispubsub.SubscriptionOpts{}).Subscribe(ctx, redispubsub.Channel("news"))
	require.Error(t, err)
}

// requireClosed takes messages until the subscription is closed.
func requireClosed(t *testing.T, sub *redispubsub.Subscription, handle func(redispubsub.Message)) {
	t.Helper()
	var last error
	for ev, err := range sub.Events(t.Context()) {
		last = err
		if m, ok := ev.(redispubsub.Message); ok {
			handle(m)
		}
	}
	require.True(t, redis.AsErrorx(last).IsOfType(redispubsub.ErrClosed), "%v", last)
}

// Reauthenticate asks for credentials again, for the open connections.
func useCredentials(t *testing.T, url string, _ int) {
	var asked atomic.Int64
	c := open(t, url, redispipe.Conn(func(o *redisconn.Opts) {
		o.CredentialsProvider = func(context.Context) (redisconn.Credentials, error) {
			asked.Add(1)
			return redisconn.Credentials{Username: "default", Password: "of a user who needs none"}, nil
		}
	}))
	require.Equal(t, "OK", c.Do(t.Context(), "SET", "k", 1))
	before := asked.Load()
	require.NoError(t, c.Reauthenticate(t.Context()))
	require.Greater(t, asked.Load(), before)
	require.Equal(t, []byte("1"), c.Do(t.Context(), "GET", "k"))
	c.Close()
	require.ErrorIs(t, c.Reauthenticate(t.Context()), redis.ErrNotSent)
}

// Shutdown waits for the answers to accepted requests, and closes the subscriber first.
func useShutdown(t *testing.T, url string, _ int) {
	ctx := t.Context()
	c := open(t, url)
	sub := c.Subscriber().NewSubscription(redispubsub.SubscriptionOpts{})
	require.NoError(t, sub.Subscribe(ctx, redispubsub.Channel("news")))
	var none context.Context
	err := c.Shutdown(none)
	require.True(t, redis.AsErrorx(err).IsOfType(redis.ErrContextIsNil))
	require.ErrorIs(t, err, redis.ErrNotSent)
	require.NoError(t, sub.Err(), "nothing is done without a context")

	futures := redis.ChanFutured{S: c}.SendMany(slices.Repeat([]redis.Request{redis.Req("INCR", "shut")}, 100))
	require.NoError(t, c.Shutdown(ctx))
	for _, f := range futures {
		require.NoError(t, redis.AsError(f.Value()))
	}
	res := c.Do(ctx, "GET", "k")
	require.True(t, redis.AsErrorx(res).IsOfType(redis.ErrContextClosed), "%v", res)
	require.Equal(t, redis.OutcomeNotSent, redis.OutcomeOf(res))
	requireClosed(t, sub, nil)
	// A subscriber that is created after Close ends at once.
	late := open(t, url)
	late.Close()
	late.Subscriber()
	require.NoError(t, late.Shutdown(ctx))

	held := open(t, url)
	opened, release := make(chan struct{}), make(chan struct{})
	go func() {
		_ = held.Session(ctx, "k", func(*redis.Session) error {
			close(opened)
			<-release
			return nil
		})
	}()
	defer close(release)
	<-opened
	soon, cancel := context.WithCancel(ctx)
	cancel()
	err = held.Shutdown(soon)
	require.Error(t, err, "a session is open")
	require.True(t, redis.CausedBy(err, context.Canceled) || errors.Is(err, context.Canceled), "%v", err)
}

// requireNoneLeft waits until only goroutines of tests are left.
func requireNoneLeft(t *testing.T) {
	t.Helper()
	left := ""
	if !assert.Eventually(t, func() bool {
		left = library()
		return left == ""
	}, 20*time.Second, time.Millisecond) {
		t.Log(left)
	}
}

// library returns the stacks of goroutines that the library has started.
func library() (left string) {
	all := make([]byte, 16<<20)
	for stack := range strings.SplitSeq(string(all[:runtime.Stack(all, true)]), "\n\n") {
		_, by, _ := strings.Cut(stack, "created by ")
		if strings.HasPrefix(by, "github.com/joomcode/redispipe/") && !strings.Contains(by, "/testbed.") {
			left += stack + "\n\n"
		}
	}
	return left
}
