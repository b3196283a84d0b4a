package rediscache

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/testbed"
)

func contains(text, part string) bool { return strings.Contains(text, part) }

// calls returns how often a command was called on the server.
func calls(t testing.TB, db redis.SyncCtx, cmd string) string {
	t.Helper()
	info, err := redis.As[string](db.Do(t.Context(), "INFO", "commandstats"))
	require.NoError(t, err)
	found := regexp.MustCompile(`cmdstat_` + regexp.QuoteMeta(cmd) + `:calls=(\d+)`).FindStringSubmatch(info)
	if found == nil {
		return "0"
	}
	return found[1]
}

// Concurrent misses of a key wait for one read. Callers that leave do not affect the others.
func TestConcurrentMisses(t *testing.T) {
	t.Parallel()
	p := newProxied(t, time.Minute, all)
	must(t, p.other.Do(t.Context(), "SET", "key", "value"))
	held := p.holdReply("key")
	const callers = 100
	var results []<-chan any
	first, cancelFirst := context.WithCancel(t.Context())
	results = append(results, later(first, p.cache, "GET", "key"))
	<-held.First()
	second, cancelSecond := context.WithCancel(t.Context())
	results = append(results, later(second, p.cache, "GET", "key"))
	for len(results) < callers {
		results = append(results, later(t.Context(), p.cache, "GET", "key"))
	}
	require.Eventually(t, func() bool { return p.cache.Stats().Joined == callers-1 }, patient, time.Millisecond)
	cancelFirst()
	cancelSecond()
	for _, res := range results[:2] {
		assert.ErrorIs(t, redis.Err(<-res), context.Canceled)
	}
	p.proxy.Heal()
	for _, res := range results[2:] {
		assert.Equal(t, []byte("value"), await(t, res))
	}
	assert.Equal(t, "1", calls(t, p.other, "get"))
	assert.True(t, kept(t, p.cache, "GET", "key"))
}

// If a caller modifies its result, the results of other callers do not change.
func TestResultsAreOwn(t *testing.T) {
	t.Parallel()
	r := newRig(t, all)
	must(t, r.other.Do(t.Context(), "HSET", "hash", "field", "value"))
	must(t, r.other.Do(t.Context(), "SET", "key", "value"))
	for range 3 {
		value := get(t, r.cache, "key").([]byte)
		require.Equal(t, "value", string(value))
		clear(value)
		fields := must(t, r.cache.Do(t.Context(), "HGETALL", "hash")).([]any)
		require.Equal(t, []any{[]byte("field"), []byte("value")}, fields)
		clear(fields[1].([]byte))
		fields[0] = nil
	}
}

// An error is not kept; null is, for NullAge.
func TestErrorsAndNull(t *testing.T) {
	t.Parallel()
	r := newRig(t, Opts{Prefixes: []string{""}, MaxAge: time.Hour, NullAge: time.Millisecond})
	must(t, r.other.Do(t.Context(), "RPUSH", "list", 1))
	for range 2 {
		err := redis.AsErrorx(r.cache.Do(t.Context(), "GET", "list"))
		require.NotNil(t, err)
		require.Contains(t, err.Message(), "WRONGTYPE")
		_, named := err.Property(redis.EKRequest)
		require.True(t, named)
	}
	require.Zero(t, r.cache.Stats().Entries)
	require.Nil(t, get(t, r.cache, "none"))
	require.EqualValues(t, 1, r.cache.Stats().Entries)
	require.Eventually(t, func() bool { return !kept(t, r.cache, "GET", "none") }, patient, time.Millisecond)
}

// Reads that can't be cached are forwarded as if there were no cache.
func TestNotCacheable(t *testing.T) {
	t.Parallel()
	testbed.Needs(t, testbed.Version(7, 0)) // for EVAL_RO
	r := newRig(t, all)
	must(t, r.other.Do(t.Context(), "SET", "key", "value"))
	for _, req := range []redis.Request{
		redis.Req("RANDOMKEY"), redis.Req("TTL", "key"), redis.Req("OBJECT ENCODING", "key"), redis.Req("DBSIZE"),
		redis.Req("EVAL_RO", "return 1", 1, "key"), redis.Req("SRANDMEMBER", "none"), redis.Req("DUMP", "key"),
	} {
		for range 2 {
			must(t, r.cache.Do(t.Context(), req.Cmd, req.Args...))
		}
	}
	st := r.cache.Stats()
	assert.Zero(t, st.Entries+st.Hits+st.Misses)
}

// The cache keeps replies only of keys with one of its prefixes, unless the caller uses WithMaxAge.
func TestPrefixes(t *testing.T) {
	t.Parallel()
	r := newRig(t, Opts{Prefixes: []string{"user:", "page:"}, MaxAge: time.Hour, NullAge: time.Hour})
	get(t, r.cache, "user:1")
	get(t, r.cache, "other:1")
	must(t, r.cache.Do(t.Context(), "MGET", "user:1", "page:1"))
	must(t, r.cache.Do(t.Context(), "MGET", "user:1", "other:1"))
	assert.EqualValues(t, 2, r.cache.Stats().Entries)
	assert.True(t, kept(t, r.cache, "GET", "user:1") && kept(t, r.cache, "MGET", "user:1", "page:1"))
	every := r.cache.WithMaxAge(time.Hour)
	get(t, every, "other:1")
	assert.True(t, kept(t, every, "GET", "other:1"))
	assert.False(t, kept(t, r.cache, "GET", "other:1"))
	hits := r.cache.Stats().Hits
	get(t, r.cache, "other:1")
	assert.Equal(t, hits, r.cache.Stats().Hits)
	assert.False(t, kept(t, r.cache.WithMaxAge(0), "GET", "user:1"))
}
