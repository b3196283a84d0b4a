package rediscache

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscache/internal/memory"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
	"github.com/joomcode/redispipe/testbed"
)

// proxied is a rig whose cache connects through a proxy. The other client does not.
type proxied struct {
	rig
	proxy *chaos.Proxy
}

func newProxied(t testing.TB, timeout time.Duration, opts Opts) proxied {
	t.Helper()
	server := testbed.NewServer(t)
	proxy := chaos.NewProxy(t, server.Addr(), chaos.ProxyOpts{})
	conn := connect(t, proxy.Addr(), redisconn.Opts{IOTimeout: timeout})
	p := proxied{rig{server: server, cache: cacheOf(t, conn, opts)}, proxy}
	p.other = redis.SyncCtx{S: connect(t, server.Addr(), redisconn.Opts{IOTimeout: time.Minute})}
	awaitLeases(t, p.cache)
	return p
}

// tracked is the number of the tracker among the connections of the proxy. The shared connection is the
// first.
const tracked = 2

// hold holds back all bytes that the server sends to the tracker, until the proxy is healed.
func (p *proxied) hold() {
	p.proxy.Arm(chaos.Fault{
		Do: chaos.Delay, On: chaos.Replies, At: chaos.Now(), Conn: tracked, Interval: time.Hour,
	})
}

// holdReply holds back the reply to the next request that contains a word, and all replies after it.
func (p *proxied) holdReply(word string) *chaos.Armed {
	return p.proxy.Arm(chaos.Fault{
		Do: chaos.Delay, On: chaos.Replies, Conn: tracked, Interval: time.Hour,
		At: chaos.AtRequest(func(request []byte) bool { return bytes.Contains(request, []byte(word)) }),
	})
}

// kept reports whether the cache answers a command from memory.
func kept(t testing.TB, c *Cache, cmd string, args ...any) bool {
	t.Helper()
	encoded, err := redis.AppendRequest(nil, redis.Req(cmd, args...))
	require.NoError(t, err)
	return c.plain.find(encoded, new(memory.Value))
}

// later sends a command in a separate goroutine, and returns the channel for its result.
func later(ctx context.Context, c *Cache, cmd string, args ...any) <-chan any {
	res := make(chan any, 1)
	go func() { res <- c.Do(ctx, cmd, args...) }()
	return res
}

func await(t testing.TB, res <-chan any) any {
	t.Helper()
	select {
	case res := <-res:
		return must(t, res)
	case <-time.After(patient):
		t.Fatal("no result")
		return nil
	}
}

// A late reply to a read that the server ran before a write is not kept, and no read that begins
// after the write was acknowledged gets it.
func TestLateReply(t *testing.T) {
	t.Parallel()
	p := newProxied(t, time.Minute, all)
	must(t, p.other.Do(t.Context(), "SET", "key", "old"))
	held := p.holdReply("key")
	before := later(t.Context(), p.cache, "GET", "key")
	<-held.First() // the server has run the GET
	must(t, p.cache.Do(t.Context(), "SET", "key", "new"))
	after := later(t.Context(), p.cache, "GET", "key")
	require.Eventually(t, func() bool { return p.cache.Stats().Misses == 2 }, patient, time.Millisecond)
	p.proxy.Heal()
	require.Equal(t, []byte("old"), await(t, before))
	require.Equal(t, []byte("new"), await(t, after))
	require.Equal(t, []byte("new"), get(t, p.cache, "key"))
}

// A write whose outcome is unknown drops the cached replies of its keys.
func TestUnknownWrite(t *testing.T) {
	t.Parallel()
	p := newProxied(t, time.Minute, all)
	must(t, p.other.Do(t.Context(), "SET", "key", "old"))
	get(t, p.cache, "key")
	require.True(t, kept(t, p.cache, "GET", "key"))
	p.hold() // so that the server can't report the change
	p.proxy.Arm(chaos.Fault{Do: chaos.Reset, On: chaos.Replies, At: chaos.AtRequestID("SET")})
	res := p.cache.Do(t.Context(), "SET", "key", "new")
	require.Equal(t, redis.OutcomeUnknown, redis.OutcomeOf(res))
	require.False(t, kept(t, p.cache, "GET", "key"))
	p.proxy.Heal()
	require.Equal(t, []byte("new"), get(t, p.cache, "key"))
}
