package rediscluster

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/testbed"
)

func TestCommands(t *testing.T) {
	tb := sharedCluster(t)
	c, rec := connect(t, tb.Addrs(), Opts{})
	s := redis.Sync{S: c}
	for i := range 300 {
		require.Equal(t, "OK", s.Do("SET", fmt.Sprintf("key:%d", i), i))
	}
	for i := range 300 {
		require.Equal(t, fmt.Sprint(i), string(s.Do("GET", fmt.Sprintf("key:%d", i)).([]byte)))
	}
	answers, replies := rec.take()
	assert.Empty(t, replies, "the topology was right from the start")
	assert.Len(t, answers, 3)

	assert.Equal(t, "PONG", s.Do("PING"))
	assert.Len(t, s.Do("TIME"), 2)
	assert.Equal(t, []any{[]byte("1"), []byte("2")}, s.Do("EVAL", "return {ARGV[1], ARGV[2]}", 0, 1, 2))
	isType(t, redis.ErrNoSlotKey, s.Do("MGET", "key:1", "key:2"))
	isType(t, redis.ErrNoSlotKey, s.Do("FLUSHALL"))
	isType(t, redis.ErrArgumentType, s.Do("SET", "key", struct{}{}))
	isType(t, redis.ErrCommandForbidden, s.SendMany([]redis.Request{redis.Req("BLPOP", "key", 1)})[0])
	isType(t, redis.ErrResult, s.Do("LPUSH", "key:1", "x"))

	var number int64
	require.NoError(t, s.DoInto(&number, "GET", "key:77"))
	assert.Equal(t, int64(77), number)

	done := make(chan any, 2)
	c.Send(redis.Req("GET", "key:5"), redis.FuncFuture(func(res any, n uint64) { done <- res; done <- n }), 42)
	assert.Equal(t, []byte("5"), <-done)
	assert.Equal(t, uint64(42), <-done)
	assert.NotPanics(t, func() { c.Send(redis.Req("GET", "key:5"), nil, 0) })
	c.Send(redis.Req("SET", "key", struct{}{}), redis.FuncFuture(func(res any, _ uint64) { done <- res }), 0)
	isType(t, redis.ErrArgumentType, <-done)
}

// counted is a Cluster that counts the requests that callers send with it.
type counted struct {
	*Cluster
	n int
}

func (c *counted) Send(req Request, cb Future, n uint64) {
	c.n++
	c.Cluster.Send(req, cb, n)
}

// countedReads is a PolicyMan that counts requests. Tests use it by value.
type countedReads struct {
	PolicyMan
	n *int
}

func (c countedReads) Send(req Request, cb Future, n uint64) {
	*c.n++
	c.PolicyMan.Send(req, cb, n)
}

// countedBatches overrides SendMany only.
type countedBatches struct {
	*PolicyMan
	n int
}

func (c *countedBatches) SendMany(reqs []Request, cb Future, start uint64) {
	c.n++
	c.PolicyMan.SendMany(reqs, cb, start)
}

// If a decorator embeds a Cluster or a PolicyMan, the library calls the methods of the decorator.
func TestDecorators(t *testing.T) {
	tb := sharedCluster(t)
	c, _ := connect(t, tb.Addrs(), Opts{})
	man := c.WithPolicy(PreferSlaves)
	for name, s := range map[string]redis.Sender{"cluster": c, "policy": man, "pointer to policy": &man} {
		assert.Equal(t, "OK", redis.Sync{S: s}.Do("SET", "decorated", 1), name)
	}

	whole, n := &counted{Cluster: c}, 0
	reads := countedReads{man, &n}
	var number int64
	for i, s := range []redis.Sender{whole, reads, &reads} {
		require.NoError(t, redis.Sync{S: s}.DoInto(&number, "INCR", "decorated"), i)
		assert.Equal(t, int64(2*i+2), number)
		assert.Equal(t, int64(2*i+3), redis.Sync{S: s}.Do("INCR", "decorated"), i)
	}
	assert.Equal(t, 2, whole.n)
	assert.Equal(t, 4, n)

	batches := &countedBatches{PolicyMan: &man}
	assert.Equal(t, "OK", redis.Sync{S: batches}.Do("SET", "decorated", 1), "the promoted Send")
	assert.Equal(t, []any{[]byte("1")}, redis.Sync{S: batches}.SendMany([]Request{redis.Req("GET", "decorated")}))
	assert.Equal(t, 1, batches.n)
}

// The caller may reuse its slices when Send returns, although the request may be sent again.
func TestArgumentsAreNotKept(t *testing.T) {
	tb := sharedCluster(t)
	c, _ := connect(t, tb.Addrs(), Opts{CheckInterval: time.Minute})
	slot, from := owner(t, tb, "kept")
	m, err := tb.BeginMigration(slot, another(t, tb, from))
	require.NoError(t, err)
	defer func() { require.NoError(t, m.Abort()) }()

	val := []byte("right")
	args := []any{"kept", val}
	done := make(chan any, 1)
	future := redis.FuncFuture(func(res any, _ uint64) { done <- res })
	c.Send(redis.Request{Cmd: "SET", Args: args}, future, 0)
	copy(val, "wrong")
	args[0] = "other"
	require.Equal(t, "OK", <-done)
	assert.Equal(t, []byte("right"), redis.Sync{S: c}.Do("GET", "kept"))
}

func singleServer(t testing.TB) string {
	t.Helper()
	return testbed.NewServer(t).Addr()
}
