package rediscache

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscache/internal/memory"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
	"github.com/joomcode/redispipe/testbed"
)

// Each answer of the server that confirms that it is tracking extends the lease.
func TestLeaseIsRenewed(t *testing.T) {
	t.Parallel()
	r := newRig(t, all)
	var f *feed
	r.cache.core.nodes.each(func(found *feed) { f = found })
	l := f.lease.Load()
	before := l.Until()
	f.ask(f.tracker.Load())
	require.Eventually(t, func() bool { return l.Until() > before }, patient, time.Millisecond)
	require.Same(t, l, f.lease.Load())
}

// If a server reports a change without valid keys, the cache assumes that every key has changed.
func TestToldOfNoKey(t *testing.T) {
	t.Parallel()
	r := newRig(t, all)
	var f *feed
	r.cache.core.nodes.each(func(found *feed) { f = found })
	l := f.lease.Load()
	f.invalidate(&redis.Push{Words: [][]byte{[]byte("invalidate")}, Rest: []any{[]byte("key")}})
	require.Same(t, l, f.lease.Load())
	f.invalidate(&redis.Push{Words: [][]byte{[]byte("invalidate")}, Rest: []any{int64(1)}})
	require.NotSame(t, l, f.lease.Load())
}

// lose holds faults after which the server no longer reports changes to the tracker.
var lose = map[string]func(t *testing.T, p *proxied){
	"reset": func(_ *testing.T, p *proxied) {
		p.proxy.Arm(chaos.Fault{Do: chaos.Reset, On: chaos.Replies, At: chaos.Now(), Conn: tracked})
	},
	"closed": func(_ *testing.T, p *proxied) {
		p.proxy.Arm(chaos.Fault{Do: chaos.Cut, On: chaos.Replies, At: chaos.Now(), Conn: tracked})
	},
	"killed by another client": func(t *testing.T, p *proxied) {
		list, err := redis.As[string](p.other.Do(t.Context(), "CLIENT LIST"))
		require.NoError(t, err)
		for _, line := range strings.Split(list, "\n") {
			if f := fields(line); strings.Contains(f["flags"], "t") {
				must(t, p.other.Do(t.Context(), "CLIENT KILL", "ID", f["id"]))
			}
		}
	},
	"restarted": func(t *testing.T, p *proxied) { require.NoError(t, p.server.Restart()) },
	"flushed":   func(t *testing.T, p *proxied) { must(t, p.other.Do(t.Context(), "FLUSHALL")) },
	"table full": func(t *testing.T, p *proxied) {
		must(t, p.other.Do(t.Context(), "CONFIG SET", "tracking-table-max-keys", 1))
		every := p.cache.WithMaxAge(time.Hour)
		require.Eventually(t, func() bool {
			for i := range 10 {
				_ = every.Do(t.Context(), "GET", "other:"+string(rune('a'+i)))
			}
			return p.cache.Stats().Dropped.Invalidated > 0 && !kept(t, p.cache, "GET", "key")
		}, patient, time.Millisecond)
	},
}

func fields(line string) map[string]string {
	found := map[string]string{}
	for _, field := range strings.Fields(line) {
		name, value, _ := strings.Cut(field, "=")
		found[name] = value
	}
	return found
}

// When the tracker is lost, or the server stops tracking, the kept replies are dropped, and a new
// tracker gets a new lease.
func TestTrackerLost(t *testing.T) {
	t.Parallel()
	for name, fault := range lose {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProxied(t, time.Minute, all)
			must(t, p.other.Do(t.Context(), "SET", "key", "old"))
			get(t, p.cache, "key")
			require.True(t, kept(t, p.cache, "GET", "key"))
			fault(t, &p)
			require.Eventually(t, func() bool { return !kept(t, p.cache, "GET", "key") }, patient, time.Millisecond)
			awaitLeases(t, p.cache)
			require.Eventually(t, func() bool {
				return redis.AsError(p.other.Do(t.Context(), "SET", "key", "new")) == nil
			}, patient, time.Millisecond)
			require.Eventually(t, func() bool {
				res := p.cache.Do(t.Context(), "GET", "key")
				value, _ := res.([]byte)
				return string(value) == "new" && kept(t, p.cache, "GET", "key")
			}, patient, time.Millisecond)
		})
	}
}

// A silent tracker does not protect its replies: within IOTimeout they are no longer served, even
// if no socket has failed.
func TestTrackerSilent(t *testing.T) {
	t.Parallel()
	p := newProxied(t, 2*time.Second, all)
	must(t, p.other.Do(t.Context(), "SET", "key", "old"))
	get(t, p.cache, "key")
	var f *feed
	p.cache.core.nodes.each(func(found *feed) { f = found })
	silenced := p.proxy.Arm(chaos.Fault{
		Do: chaos.Swallow, On: chaos.Replies, At: chaos.Now(), Conn: tracked,
	})
	<-silenced.First()
	written := memory.Now()
	must(t, p.other.Do(t.Context(), "SET", "key", "new"))
	if l := f.lease.Load(); l != nil { // on a busy machine the feed may have closed the tracker by now
		assert.Less(t, l.Until(), written+memory.Instant(f.term), "the lease may have been renewed just before")
	}
	require.Eventually(t, func() bool {
		value, _ := p.cache.Do(t.Context(), "GET", "key").([]byte)
		return string(value) == "new"
	}, patient, time.Millisecond)
}

// isTracking accepts only an answer to CLIENT TRACKINGINFO with the flag "on".
func TestIsTracking(t *testing.T) {
	t.Parallel()
	info := func(flags ...any) any {
		return map[string]any{"flags": flags, "redirect": int64(0), "prefixes": []any{}}
	}
	assert.True(t, isTracking(info([]byte("on"))))
	assert.True(t, isTracking(info("on", "optin")))
	for _, res := range []any{
		info("off"), info(), nil, "OK", []any{"on"}, map[string]any{}, redis.ErrIO.New("lost"),
		map[string]any{"flags": int64(1)},
	} {
		assert.False(t, isTracking(res), "%v", res)
	}
}

// If the address now leads to another server, replies of the earlier server are no longer served after the
// new server has acknowledged a write.
func TestOtherServer(t *testing.T) {
	t.Parallel()
	p := newProxied(t, time.Minute, all)
	second := newRig(t, all)
	must(t, p.other.Do(t.Context(), "SET", "key", "first"))
	get(t, p.cache, "key")
	host := second.server.Addr()
	_, _, err := net.SplitHostPort(host)
	require.NoError(t, err)
	p.proxy.SetTarget(host)
	// Only the shared connection is lost: the tracker stays with the first server.
	p.proxy.Arm(chaos.Fault{Do: chaos.Reset, On: chaos.Replies, At: chaos.Now(), Conn: 1})
	require.Eventually(t, func() bool {
		return redis.AsError(p.cache.Do(t.Context(), "SET", "other", "second")) == nil
	}, patient, time.Millisecond)
	require.False(t, kept(t, p.cache, "GET", "key"))
	require.Nil(t, get(t, p.cache, "key"), "it is of the first server")
	awaitLeases(t, p.cache)
	require.Nil(t, get(t, p.cache, "key"))
	require.True(t, kept(t, p.cache, "GET", "key"))
}

// If a tracker's queue is full, the server still reports changes, so the replies in memory stay.
func TestTrackerWithoutRoom(t *testing.T) {
	t.Parallel()
	server := testbed.NewServer(t)
	proxy := chaos.NewProxy(t, server.Addr(), chaos.ProxyOpts{})
	conn := connect(t, proxy.Addr(), redisconn.Opts{IOTimeout: time.Minute, MaxRequests: 1})
	p := proxied{rig{server: server, cache: cacheOf(t, conn, all)}, proxy}
	awaitLeases(t, p.cache)
	must(t, p.cache.Do(t.Context(), "SET", "kept", "value"))
	require.Eventually(t, func() bool {
		get(t, p.cache, "kept")
		return kept(t, p.cache, "GET", "kept")
	}, patient, time.Millisecond)
	held := p.holdReply("other")
	waits := later(t.Context(), p.cache, "GET", "other")
	<-held.First()
	p.cache.core.nodes.each(func(f *feed) { f.ask(f.tracker.Load()) })
	assert.True(t, kept(t, p.cache, "GET", "kept"))
	p.proxy.Heal()
	await(t, waits)
}
