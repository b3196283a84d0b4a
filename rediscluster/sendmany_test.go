package rediscluster

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/joomcode/errorx"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster/internal/route"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
)

// The requests of one call to one node keep their order, even if another connection to that node comes up
// while they are assigned.
func TestSendManyKeepsConnection(t *testing.T) {
	var rules route.Rules
	node := rules.NewNode("node:1", false, "")
	first := &part{link: route.NewLink(node)}
	require.Same(t, first, findPart([]*part{first}, route.NewLink(node)))
	require.Nil(t, findPart([]*part{first}, route.NewLink(rules.NewNode("other:1", false, ""))))
}

func TestSendMany(t *testing.T) {
	tb := sharedCluster(t)
	c, rec := connect(t, tb.Addrs(), Opts{RoundRobinSeed: &FairRoundRobinSeed{}, ConnHostPolicy: ConnHostRoundRobin})
	s := redis.Sync{S: c}
	var reqs []redis.Request
	for i := range 300 {
		reqs = append(reqs, redis.Req("RPUSH", fmt.Sprintf("list:%d", i%30), i))
	}
	for round := range 3 {
		for i, res := range s.SendMany(reqs) {
			require.Equal(t, int64(round*10+i/30+1), res, "the order within a shard is kept")
		}
	}
	answers, replies := rec.take()
	assert.Empty(t, replies)
	assert.Len(t, answers, 3)
	assert.Empty(t, s.SendMany(nil))
	assert.Equal(t, []any{"PONG"}, s.SendMany([]redis.Request{redis.Req("PING")}))
}

func TestSendManyBadRequests(t *testing.T) {
	tb := sharedCluster(t)
	c, rec := connect(t, tb.Addrs(), Opts{})
	s := redis.Sync{S: c}
	got := s.SendMany([]redis.Request{redis.Req("SET", "a", 1), redis.Req("MGET", "a", "b"), redis.Req("FLUSHALL"), redis.Req("PING")})
	assert.Equal(t, "OK", got[0])
	isType(t, redis.ErrNoSlotKey, got[1])
	isType(t, redis.ErrNoSlotKey, got[2])
	assert.Equal(t, "PONG", got[3])
	rec.take()

	for want, bad := range map[interface{ String() string }]redis.Request{
		redis.ErrArgumentType:     redis.Req("SET", "b", struct{}{}),
		redis.ErrCommandForbidden: redis.Req("BLPOP", "b", 1),
	} {
		got = s.SendMany([]redis.Request{redis.Req("INCR", "a"), bad, redis.Req("INCR", "c")})
		isType(t, want, got[1])
		for _, i := range []int{0, 2} {
			isType(t, redis.ErrBatchFormat, got[i])
			assert.True(t, redis.AsErrorx(got[i]).HasTrait(redis.ErrTraitNotSent))
		}
	}
	answers, _ := rec.take()
	assert.Empty(t, answers, "nothing was sent")
}

func TestSendSplit(t *testing.T) {
	tb := sharedCluster(t)
	c, _ := connect(t, tb.Addrs(), Opts{})
	conn, err := redisconn.Connect(context.Background(), tb.Node(0).Addr(), redisconn.Opts{IOTimeout: time.Minute, Logger: redisconn.NoopLogger{}})
	require.NoError(t, err)
	defer conn.Close()
	ctx := context.Background()

	mset, mget, keys := redis.Request{Cmd: "MSET"}, redis.Request{Cmd: "mget"}, []any{}
	for i := range 100 {
		mset.Args = append(mset.Args, fmt.Sprintf("key:%d", i), i)
		keys = append(keys, fmt.Sprintf("key:%d", i))
	}
	mget.Args = append(keys, "missing")
	assert.Equal(t, "OK", SendSplit(ctx, c, mset))
	got := SendSplit(ctx, c, mget).([]any)
	require.Len(t, got, 101)
	for i := range 100 {
		assert.Equal(t, []byte(fmt.Sprint(i)), got[i])
	}
	assert.Nil(t, got[100])
	assert.Equal(t, int64(100), SendSplit(ctx, c, redis.Request{Cmd: "EXISTS", Args: mget.Args}))
	assert.Equal(t, int64(100), SendSplit(ctx, c, redis.Request{Cmd: "TOUCH", Args: mget.Args}))
	assert.Equal(t, int64(50), SendSplit(ctx, c, redis.Request{Cmd: "DEL", Args: keys[:50]}))
	assert.Equal(t, int64(50), SendSplit(ctx, c.WithPolicy(PreferSlaves), redis.Request{Cmd: "UNLINK", Args: keys}))
	isType(t, redis.ErrArgumentType, SendSplit(ctx, c, redis.Req("MGET", "a", struct{}{})))
	isType(t, redis.ErrResult, SendSplit(ctx, c, redis.Req("MSET", "a")))
	isType(t, redis.ErrNoSlotKey, SendSplit(ctx, c, redis.Req("RENAME", "a", "b")))

	// A key that the server does not serve fails the whole batch.
	isType(t, redis.ErrMoved, SendSplit(ctx, conn, mget))
}

func TestSendSplitOnOneConnection(t *testing.T) {
	server := singleServer(t)
	ctx := context.Background()
	conn, err := redisconn.Connect(ctx, server, redisconn.Opts{IOTimeout: time.Minute, Logger: redisconn.NoopLogger{}})
	require.NoError(t, err)
	defer conn.Close()
	assert.Equal(t, "OK", SendSplit(ctx, conn, redis.Req("MSET", "a", 1, "b", 2, "{a}", 3)))
	assert.Equal(t, []any{[]byte("1"), nil, []byte("2"), []byte("3")}, SendSplit(ctx, conn, redis.Req("MGET", "a", "x", "b", "{a}")))
	assert.Equal(t, int64(3), SendSplit(ctx, conn, redis.Req("DEL", "a", "x", "b", "{a}")))
}

// The error of a request names the request, no matter how it was sent.
func TestErrorsNameTheRequest(t *testing.T) {
	tb := sharedCluster(t)
	c, _ := connect(t, tb.Addrs(), Opts{})
	require.NoError(t, redis.AsError(redis.Sync{S: c}.Do("HSET", "{named}hash", "f", 1)))
	names := func(res any, cmd string, args ...any) {
		t.Helper()
		err := redis.AsErrorx(res)
		require.NotNil(t, err, "%v", res)
		req, _ := err.Property(redis.EKRequest)
		assert.Equal(t, redis.Req(cmd, args...), req)
	}
	incr, get := redis.Req("INCR", "{named}hash"), redis.Req("GET", "{named}free")
	futures := redis.ChanFutured{S: c}
	names(futures.Send(incr).Value(), "INCR", "{named}hash")
	names(futures.SendMany([]Request{get, incr, redis.Req("GET", "other")})[1].Value(), "INCR", "{named}hash")
	results, err := futures.SendTransaction([]Request{get, incr}).Results()
	require.NoError(t, err)
	names(results[1], "INCR", "{named}hash")
	names(futures.SendMany([]Request{get, redis.Req("GET", struct{}{})})[0].Value(), "GET", "{named}free")
	_, err = redis.Sync{S: c}.Scanner(redis.ScanOpts{Cmd: "SSCAN", Key: "{named}hash"}).Next()
	names(err, "SSCAN", "{named}hash", "0")
	names(SendSplit(context.Background(), c, redis.Req("MGET")), "MGET")
}

// Requests that are cancelled before they are sent are not sent, and their errors name them.
func TestSendCancelled(t *testing.T) {
	node := newScriptedNode(t, chaos.ScriptedReplies("+OK\r\n"))
	c, _ := connect(t, []string{node.Addr()}, calm)
	one, other := redis.Req("SET", "{c}a", 1), redis.Req("SET", "{c}b", 2)
	gone := &lateFuture{}
	gone.cancelled.Store(true)
	check := func(property errorx.Property, want any) {
		t.Helper()
		isType(t, redis.ErrRequestWithdrawn, gone.res)
		assert.True(t, redis.CausedBy(gone.res.(error), context.Canceled))
		got, _ := redis.AsErrorx(gone.res).Property(property)
		assert.Equal(t, want, got)
	}
	c.Send(one, gone, 0)
	check(redis.EKRequest, one)
	c.SendMany([]redis.Request{one, other}, gone, 0)
	check(redis.EKRequest, other)
	c.SendTransaction([]redis.Request{one, other}, gone, 0)
	check(redis.EKRequests, []redis.Request{one, other})
	require.Equal(t, "OK", redis.Sync{S: c}.Do("GET", "{c}a"))
	assert.Zero(t, seen(node, "SET"))
	assert.Zero(t, seen(node, "MULTI"))
}

// A future that ends the goroutine of SendMany loses no other request.
func TestSendManyWhoseFutureEndsTheGoroutine(t *testing.T) {
	play, release := holding("+OK\r\n")
	node, other := newScriptedNode(t, play), newScriptedNode(t, play)
	for _, n := range []*scriptedNode{node, other} {
		n.serve(node.Addr(), other.Addr())
	}
	const room = 16
	c, _ := connect(t, []string{node.Addr()}, Opts{CheckInterval: time.Minute, HostOpts: redisconn.Opts{MaxRequests: room}})
	low, high := redis.Req("GET", "{b}"), redis.Req("GET", "{a}") // a key of the first node, and one of the other
	await(t, "connections", func() bool {
		top := c.topology.Load()
		return len(top.Shards) == 2 && top.Shards[0].Master.Up() && top.Shards[1].Master.Up()
	})
	full := make(chan any, 1)
	for range 2 * room {
		c.Send(low, redis.FuncFuture(func(res any, _ uint64) {
			if err := redis.AsErrorx(res); err != nil && err.IsOfType(redis.ErrQueueFull) {
				select {
				case full <- res:
				default:
				}
			}
		}), 0)
	}
	<-full
	var resolved atomic.Int64
	exits := redis.FuncFuture(func(any, uint64) {
		resolved.Add(1)
		runtime.Goexit()
	})
	go c.SendMany([]redis.Request{low, high}, exits, 0)
	go c.SendMany([]redis.Request{high, redis.Req("GET", struct{}{})}, exits, 0)
	await(t, "the refusals", func() bool { return resolved.Load() == 3 })
	close(release)
	await(t, "all answers", func() bool { return c.accepted.Load() == 0 && resolved.Load() == 4 })
}
