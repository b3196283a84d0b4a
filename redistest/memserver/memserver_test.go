package memserver_test

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/memserver"
)

func TestServer(t *testing.T) {
	server := memserver.New(t)
	db := connect(t, server.Addr(), 2)
	assert.Equal(t, "OK", db.Do("SET", "k", "v", "EX", 60))
	server.Advance(59 * time.Second)
	assert.Equal(t, []byte("v"), db.Do("GET", "k"))
	server.Advance(2 * time.Second)
	assert.Nil(t, db.Do("GET", "k"))
}

// Advance affects keys, stream entries and waiting commands.
func TestAdvance(t *testing.T) {
	server := memserver.New(t)
	a, b, c := dial(t, server.Addr()), dial(t, server.Addr()), dial(t, server.Addr())
	c.do("SET", "k", "v", "EX", "3600")
	c.do("XGROUP", "CREATE", "x", "g", "0", "MKSTREAM")
	c.do("XADD", "x", "1-1", "f", "v")
	c.do("XREADGROUP", "GROUP", "g", "c", "STREAMS", "x", ">")
	a.send([]string{"BLPOP", "l", "3000"})
	b.send([]string{"BLPOP", "l", "9000"})
	require.Eventually(t, func() bool { return strings.Contains(c.do("INFO", "clients"), "blocked_clients:2") }, patience, time.Millisecond)
	server.Advance(time.Hour)
	assert.Equal(t, "nil", a.read())
	assert.Equal(t, "0", c.do("EXISTS", "k"))
	assert.Contains(t, c.do("XPENDING", "x", "g", "IDLE", "3600000", "-", "+", "5"), "[1-1 c 36")
	id := c.do("XADD", "y", "*", "f", "v")
	c.do("RPUSH", "l", "w")
	assert.Equal(t, "[l w]", b.read())
	server.Advance(time.Hour)
	assert.Greater(t, c.do("XADD", "z", "*", "f", "v"), id)
}

// If a test sets the time, only Advance changes it.
func TestAdvanceFromSetTime(t *testing.T) {
	server := memserver.New(t)
	c := dial(t, server.Addr())
	for _, hours := range []int{0, 5} { // before and after Advance
		start := time.Unix(int64(hours)*3600+1e9, 0)
		server.Miniredis().SetTime(start)
		c.do("SET", "k", "v", "EX", "60")
		server.Advance(59 * time.Second)
		assert.Equal(t, "1", c.do("TTL", "k"))
		assert.Equal(t, fmt.Sprintf("[%d 0]", start.Unix()+59), c.do("TIME"))
		server.Advance(time.Second)
		assert.Equal(t, "0", c.do("EXISTS", "k"))
	}
}

// If a test writes a key directly, clients that wait for the key are served.
func TestWriteOfTest(t *testing.T) {
	server := memserver.New(t)
	c := dial(t, server.Addr())
	c.send([]string{"BLPOP", "l", "0"})
	other := dial(t, server.Addr())
	require.Eventually(t, func() bool { return strings.Contains(other.do("INFO", "clients"), "blocked_clients:1") }, patience, time.Millisecond)
	_, err := server.Miniredis().Push("l", "x")
	require.NoError(t, err)
	assert.Equal(t, "[l x]", c.read())
}

// A client whose connection has ended gets no element.
func TestWaiterGone(t *testing.T) {
	server := memserver.New(t)
	gone, c := dial(t, server.Addr()), dial(t, server.Addr())
	blocked := func(n int) func() bool {
		return func() bool { return strings.Contains(c.do("INFO", "clients"), fmt.Sprintf("blocked_clients:%d\r", n)) }
	}
	gone.send([]string{"BLPOP", "l", "0"})
	require.Eventually(t, blocked(1), patience, time.Millisecond)
	gone.conn.Close()
	require.Eventually(t, blocked(0), patience, time.Millisecond)
	c.do("RPUSH", "l", "x")
	assert.Equal(t, "1", c.do("LLEN", "l"))
}

// Clients that do not read their replies, messages and invalidations hold up nobody else.
func TestClientsThatDoNotRead(t *testing.T) {
	t.Parallel()
	s := memserver.New(t)
	invalidate := s.Track()
	large := strings.Repeat("x", 5<<20) // more than the socket of a client that does not read takes
	slow := func() *client {
		c := dial(t, s.Addr())
		require.NoError(t, c.conn.(*net.TCPConn).SetReadBuffer(16<<10))
		return c
	}
	getter, subscriber, tracker, other := slow(), slow(), slow(), dial(t, s.Addr())
	require.Equal(t, "OK", other.do("SET", "large", large))
	getter.send([]string{"GET", "large"})
	require.Equal(t, "[subscribe topic 1]", subscriber.do("SUBSCRIBE", "topic"))
	waiter := slow()
	waiter.do("HELLO", "3")
	waiter.do("SUBSCRIBE", "topic")
	waiter.send([]string{"BLPOP", "list", "0"})
	tracker.do("HELLO", "3")
	require.Equal(t, "OK", tracker.do("CLIENT", "TRACKING", "ON"))
	invalidated := make(chan struct{})
	go func() {
		defer close(invalidated)
		invalidate(large)
	}()
	for range 2 {
		require.Equal(t, "2", other.do("PUBLISH", "topic", large))
		require.Equal(t, "OK", dial(t, s.Addr()).do("SET", "small", "x"))
	}
	require.NoError(t, tracker.conn.Close())
	<-invalidated
}

// Unordered replies are never in sorted order, on which a test might rely.
func TestNoOrder(t *testing.T) {
	c := dial(t, memserver.New(t).Addr())
	c.do("SADD", "s", "a", "b")
	c.do("HSET", "h", "a", "1", "b", "2")
	for _, cmd := range [][]string{{"SMEMBERS", "s"}, {"SUNION", "s"}, {"HKEYS", "h"}, {"HVALS", "h"}, {"HGETALL", "h"}, {"KEYS", "*"}} {
		reply := c.do(cmd...)
		assert.NotContains(t, []string{"[a b]", "[1 2]", "[a 1 b 2]", "[h s]"}, reply, cmd)
		assert.Equal(t, reply, c.do(cmd...), "but the same each time")
	}
}

// SCAN finds each key that exists during the whole iteration, no matter which keys are added and
// removed.
func TestScanOfChanges(t *testing.T) {
	c := dial(t, memserver.New(t).Addr())
	for i := range 30 {
		c.do("SET", fmt.Sprint("stays", i), "v")
	}
	found, cursor := map[string]bool{}, "0"
	for i := 0; i == 0 || cursor != "0"; i++ {
		reply := c.do("SCAN", cursor, "MATCH", "stays*", "COUNT", "3")
		next, keys, _ := strings.Cut(strings.Trim(reply, "[]"), " [")
		for _, key := range strings.Fields(keys) {
			found[key] = true
		}
		cursor = next
		c.do("SET", fmt.Sprint("comes", i), "v")
		c.do("DEL", fmt.Sprint("comes", i-1))
	}
	assert.Len(t, found, 30)
}

func TestSetError(t *testing.T) {
	server := memserver.New(t)
	c := dial(t, server.Addr())
	server.SetError("LOADING it loads")
	assert.Equal(t, "-LOADING", c.do("GET", "k"))
	server.SetError("")
	c.do("SET", "a", "1")
	c.do("SET", "b", "1")
	assert.Equal(t, "[b a]", c.do("KEYS", "*"), "the server still mends miniredis")
}

func TestServersAreApart(t *testing.T) {
	one, other := memserver.New(t), memserver.New(t)
	require.NotEqual(t, one.Addr(), other.Addr())
	connect(t, one.Addr(), 2).Do("SET", "k", "v")
	assert.Nil(t, connect(t, other.Addr(), 2).Do("GET", "k"))
}

func TestClose(t *testing.T) {
	server, err := memserver.Start()
	require.NoError(t, err)
	conn, err := redisconn.Connect(t.Context(), server.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}, IOTimeout: time.Minute})
	require.NoError(t, err)
	defer conn.Close()
	server.Close()
	err = redis.AsError(redis.Sync{S: conn}.Do("PING"))
	require.Error(t, err)
	assert.True(t, redis.AsErrorx(err).HasTrait(redis.ErrTraitConnectivity), "%v", err)
}
