package rediscache

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/lab/drill"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/testbed"
)

// ways holds the ways in which a caller can change a key.
var ways = map[string]func(ctx context.Context, c *Cache) error{
	"Do": func(ctx context.Context, c *Cache) error { return redis.Err(c.Do(ctx, "SET", "key", "new")) },
	"DoInto": func(ctx context.Context, c *Cache) error {
		var old string
		return c.DoInto(ctx, &old, "GETSET", "key", "new")
	},
	"several keys": func(ctx context.Context, c *Cache) error {
		return redis.Err(c.Do(ctx, "MSET", "another", 1, "key", "new"))
	},
	"Send": func(_ context.Context, c *Cache) error {
		done := make(chan any, 1)
		c.Send(redis.Req("SET", "key", "new"), redis.FuncFuture(func(res any, _ uint64) { done <- res }), 0)
		return redis.Err(<-done)
	},
	"SendMany": func(ctx context.Context, c *Cache) error {
		return redis.FirstError(c.DoMany(ctx, []redis.Request{redis.Req("GET", "key"), redis.Req("SET", "key", "new")}))
	},
	"transaction": func(ctx context.Context, c *Cache) error {
		_, err := c.Transact(ctx, []redis.Request{redis.Req("SET", "key", "new")})
		return err
	},
	"script": func(ctx context.Context, c *Cache) error {
		s := redis.NewScript("return redis.call('SET', KEYS[1], ARGV[1])")
		return redis.Err(s.Do(ctx, c, []string{"key"}, "new"))
	},
	"script without keys": func(ctx context.Context, c *Cache) error {
		return redis.Err(c.Do(ctx, "EVAL", "return redis.call('SET', 'key', 'new')", 0))
	},
	"session": func(ctx context.Context, c *Cache) error {
		return redis.WithSession(ctx, c, "", func(s *redis.Session) error { return redis.Err(s.Do("SET", "key", "new")) })
	},
	"MULTI in a session": func(ctx context.Context, c *Cache) error {
		return redis.WithSession(ctx, c, "", func(s *redis.Session) error {
			for _, req := range []redis.Request{redis.Req("MULTI"), redis.Req("SET", "key", "new"), redis.Req("EXEC")} {
				if err := redis.Err(s.Do(req.Cmd, req.Args...)); err != nil {
					return err
				}
			}
			return nil
		})
	},
	"Watch": func(ctx context.Context, c *Cache) error {
		_, err := redis.Watch(ctx, c, []string{"key"}, func(tx *redis.Tx) error {
			tx.Queue("SET", "key", "new")
			return nil
		})
		return err
	},
	"shard": func(ctx context.Context, c *Cache) (err error) {
		c.EachShard(func(shard redis.Sender, _ error) bool {
			err = redis.Err(redis.SyncCtx{S: shard}.Do(ctx, "SET", "key", "new"))
			return true
		})
		return err
	},
	"rename": func(ctx context.Context, c *Cache) error {
		if err := redis.Err(c.Do(ctx, "SET", "another", "new")); err != nil {
			return err
		}
		return redis.Err(c.Do(ctx, "RENAME", "another", "key"))
	},
	"other age": func(ctx context.Context, c *Cache) error {
		return redis.Err(c.WithMaxAge(time.Second).Do(ctx, "SET", "key", "new"))
	},
	"unknown command": func(ctx context.Context, c *Cache) error {
		_ = c.Do(ctx, "SOMEMODULE.SET", "x")
		return redis.Err(c.Do(ctx, "SET", "key", "new"))
	},
}

// When a write is acknowledged, no older reply of its key is kept, no matter how it was sent. In
// this test the server reports no changes.
func TestWaysToWrite(t *testing.T) {
	t.Parallel()
	for name, write := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProxied(t, time.Minute, all)
			must(t, p.other.Do(t.Context(), "SET", "key", "old"))
			get(t, p.cache, "key")
			must(t, p.cache.Do(t.Context(), "MGET", "another", "key"))
			require.True(t, kept(t, p.cache, "GET", "key"))
			require.True(t, kept(t, p.cache, "MGET", "another", "key"))
			p.hold()
			require.NoError(t, write(t.Context(), p.cache))
			require.False(t, kept(t, p.cache, "GET", "key"))
			require.False(t, kept(t, p.cache, "MGET", "another", "key"))
			p.proxy.Heal()
			require.Equal(t, []byte("new"), get(t, p.cache, "key"))
		})
	}
}

// When any command is acknowledged, no older reply of the keys that it changed is kept, no matter
// where its keys are. In this test the server reports no changes.
func TestKeysInOddPlaces(t *testing.T) {
	drill.Rotate(t)
	t.Parallel()
	dump := func(p *proxied) any { return must(t, p.other.Do(t.Context(), "DUMP", "from")) }
	for _, w := range []struct {
		before []string // commands of another client
		read   string   // a read whose reply is then in memory
		write  string   // a write through the cache
	}{
		{[]string{"PFADD key a", "PFCOUNT key", "PFADD key b"}, "GET key", "PFCOUNT key"},
		{[]string{"PFADD key a", "PFCOUNT key", "PFADD key b"}, "GET key", "pfcount key"},
		{[]string{"RPUSH from 2 1"}, "LRANGE key 0 -1", "SORT from STORE other STORE key"},
		{[]string{"RPUSH from 2 1"}, "LRANGE key 0 -1", "SORT from BY nosort LIMIT 0 1 GET # store key"},
		{[]string{"GEOADD from 1 1 m"}, "ZRANGE key 0 -1", "GEORADIUS from 1 1 9 km STORE other STORE key"},
		{[]string{"GEOADD from 1 1 m"}, "ZRANGE key 0 -1", "GEORADIUS from 1 1 9 km STOREDIST other storedist key"},
		{[]string{"GEOADD from 1 1 m"}, "ZRANGE key 0 -1", "GEORADIUSBYMEMBER from m 9 km COUNT 1 STORE other STOREDIST key"},
		{[]string{"GEOADD from 1 1 m"}, "ZRANGE key 0 -1", "GEOSEARCHSTORE key from FROMMEMBER m BYRADIUS 9 km"},
		{[]string{"SADD key a"}, "SMEMBERS key", "SPOP key"},
		{[]string{"SET key a"}, "GET key", "MOVE key 1"},
		{[]string{"SET key a", "SET from b"}, "GET key", "COPY from key DB 0 REPLACE"},
		{[]string{"SET key a"}, "EXISTS key", "RENAME key other"},
		{[]string{"SET key a", "SET from b"}, "GET key", "RESTORE key 0 DUMP REPLACE"},
		{[]string{"SET key a"}, "GET key", "GETEX key PXAT 1"},
		{[]string{"SET key a"}, "GET key", "EXPIRE key -1"},
		{[]string{"RPUSH key a b"}, "LLEN key", "BLMPOP 0 2 other key LEFT"},
		{[]string{"ZADD key 1 a"}, "ZCARD key", "BZMPOP 0 2 other key MIN"},
		{[]string{"RPUSH from a"}, "LLEN key", "BLMOVE from key LEFT LEFT 0"},
		{[]string{"SET from a"}, "GET key", "BITOP NOT key from"},
		{[]string{"SET key a"}, "GET key", "BITFIELD key GET u8 0 SET u8 0 98"},
		{[]string{"ZADD from 1 a"}, "ZCARD key", "ZUNIONSTORE key 2 from other"},
		{[]string{"XADD key 1-1 f v"}, "XLEN key", "XTRIM key MAXLEN 0"},
		{nil, "EXISTS key", "XGROUP CREATE key g $ MKSTREAM"},
		{nil, "EXISTS key", "EVAL return~redis.call('SET',KEYS[2],1) 2 other key"},
	} {
		t.Run(w.write, func(t *testing.T) {
			t.Parallel()
			if strings.Contains(w.write, "MPOP") {
				testbed.Needs(t, testbed.Version(7, 0))
			}
			p := newProxied(t, time.Minute, all)
			words := func(text string) (cmd string, args []any) {
				for _, word := range strings.Fields(text) {
					switch {
					case cmd == "":
						cmd = word
					case word == "DUMP":
						args = append(args, dump(&p))
					default:
						args = append(args, strings.ReplaceAll(word, "~", " "))
					}
				}
				return cmd, args
			}
			for _, text := range w.before {
				cmd, args := words(text)
				must(t, p.other.Do(t.Context(), cmd, args...))
			}
			read, key := words(w.read)
			before := must(t, p.cache.Do(t.Context(), read, key...))
			require.True(t, kept(t, p.cache, read, key...))
			p.hold()
			cmd, args := words(w.write)
			must(t, p.cache.Do(t.Context(), cmd, args...))
			require.NotEqual(t, before, must(t, p.other.Do(t.Context(), read, key...)))
			assert.False(t, kept(t, p.cache, read, key...))
			p.proxy.Heal()
		})
	}
}

// PFCOUNT may write, so no later request of its batch is answered from memory.
func TestSendManyBehindPFCOUNT(t *testing.T) {
	t.Parallel()
	p := newProxied(t, time.Minute, all)
	must(t, p.other.Do(t.Context(), "PFADD", "key", "a"))
	must(t, p.other.Do(t.Context(), "PFCOUNT", "key"))
	must(t, p.other.Do(t.Context(), "PFADD", "key", "b"))
	before := get(t, p.cache, "key")
	p.hold()
	got := p.cache.DoMany(t.Context(), []redis.Request{redis.Req("PFCOUNT", "key"), redis.Req("GET", "key")})
	assert.EqualValues(t, 2, must(t, got[0]))
	assert.NotEqual(t, before, must(t, got[1]))
	p.proxy.Heal()
}

// Some servers refuse a MULTI inside a transaction and continue the transaction. The keys of the queued
// requests are still dropped with the reply to EXEC.
func TestNestedMulti(t *testing.T) {
	t.Parallel()
	p := newProxied(t, time.Minute, all)
	must(t, p.other.Do(t.Context(), "SET", "key", "old"))
	require.NoError(t, redis.WithSession(t.Context(), p.cache, "", func(s *redis.Session) error {
		must(t, s.Do("MULTI"))
		must(t, s.Do("SET", "key", "new"))
		get(t, p.cache, "key")
		require.True(t, kept(t, p.cache, "GET", "key"))
		p.hold()
		require.Error(t, redis.Err(s.Do("MULTI")))
		_ = s.Do("EXEC")
		require.False(t, kept(t, p.cache, "GET", "key"))
		return nil
	}))
	p.proxy.Heal()
}

// A command that removes all keys, or that is unknown, drops all entries.
func TestWriteOfAll(t *testing.T) {
	t.Parallel()
	for _, cmd := range []string{"FLUSHALL", "FLUSHDB", "SOMEMODULE.CLEAR"} {
		t.Run(cmd, func(t *testing.T) {
			t.Parallel()
			p := newProxied(t, time.Minute, all)
			must(t, p.other.Do(t.Context(), "SET", "key", "old"))
			get(t, p.cache, "key")
			p.hold()
			_ = p.cache.Do(t.Context(), cmd)
			require.False(t, kept(t, p.cache, "GET", "key"))
			p.proxy.Heal()
			require.Eventually(t, func() bool { return p.cache.Stats().Entries == 0 }, patient, time.Millisecond)
			assert.EqualValues(t, 1, p.cache.Stats().Dropped.Lease)
			assert.Zero(t, p.cache.Stats().Bytes)
		})
	}
}

// Commands that only ask about a cluster drop no entries. Commands that change its slots drop all.
func TestCommandsOfClusters(t *testing.T) {
	t.Parallel()
	r := newRig(t, all)
	for _, c := range []struct {
		sent  string
		leave bool
	}{
		{"CLUSTER SLOTS", true},
		{"cluster nodes", true},
		{"CLUSTER SLOT-STATS ORDERBY key-count", true},
		{"CLUSTER COUNTKEYSINSLOT 1", true},
		{"CLUSTER SETSLOT 1 STABLE", false},
		{"CLUSTER DELSLOTS 1", false},
		{"CLUSTER REPLICATE id", false},
		{"CLUSTER RESET", false},
		{"CLUSTER NEW", false},
		{"CLUSTER", false},
	} {
		require.Eventually(t, func() bool {
			get(t, r.cache, "key")
			return kept(t, r.cache, "GET", "key")
		}, patient, time.Millisecond, "%s follows", c.sent)
		words := strings.Fields(c.sent)
		args := make([]any, 0, len(words))
		for _, word := range words[1:] {
			args = append(args, word)
		}
		if err := redis.Err(r.cache.Do(t.Context(), words[0], args...)); err != nil {
			require.ErrorIs(t, err, redis.ErrRefused, c.sent)
		}
		assert.Equal(t, c.leave, kept(t, r.cache, "GET", "key"), c.sent)
	}
}

// When a blocking pop returns, the cached replies of the list are dropped.
func TestBlockingPop(t *testing.T) {
	t.Parallel()
	p := newProxied(t, time.Minute, all)
	require.EqualValues(t, 0, must(t, p.cache.Do(t.Context(), "LLEN", "list")))
	pop := later(t.Context(), p.cache, "BLPOP", "list", 0)
	require.Eventually(t, func() bool {
		info, err := redis.As[string](p.other.Do(t.Context(), "INFO", "clients"))
		return err == nil && contains(info, "blocked_clients:1")
	}, patient, time.Millisecond)
	must(t, p.other.Do(t.Context(), "RPUSH", "list", 1, 2))
	await(t, pop)
	require.EqualValues(t, 1, must(t, p.cache.Do(t.Context(), "LLEN", "list")))
}

// SWAPDB is refused, whichever way it is sent.
func TestSwapDB(t *testing.T) {
	t.Parallel()
	r := newRig(t, all)
	swap := redis.Req("SWAPDB", 0, 1)
	refused := func(res any) {
		t.Helper()
		err := redis.AsErrorx(res)
		require.NotNil(t, err)
		assert.True(t, err.IsOfType(redis.ErrCommandForbidden) || err.IsOfType(redis.ErrBatchFormat), "%v", err)
		assert.Equal(t, redis.OutcomeNotSent, redis.OutcomeOf(err))
	}
	refused(r.cache.Do(t.Context(), "SWAPDB", 0, 1))
	for _, res := range r.cache.DoMany(t.Context(), []redis.Request{redis.Req("SET", "key", 1), swap}) {
		refused(res)
	}
	_, err := r.cache.Transact(t.Context(), []redis.Request{swap})
	refused(err)
	require.NoError(t, redis.WithSession(t.Context(), r.cache, "", func(s *redis.Session) error {
		refused(s.Do("SWAPDB", 0, 1))
		return nil
	}))
	require.Nil(t, get(t, r.cache, "key"))
}

// When the future of a write is resolved, the cached replies of its keys are already gone.
func TestDroppedBeforeResolved(t *testing.T) {
	t.Parallel()
	p := newProxied(t, time.Minute, all)
	must(t, p.other.Do(t.Context(), "SET", "key", "old"))
	requests := []redis.Request{redis.Req("SET", "key", "new")}
	sends := map[string]func(cb redis.Future){
		"Send":            func(cb redis.Future) { p.cache.Send(requests[0], cb, 0) },
		"SendMany":        func(cb redis.Future) { p.cache.SendMany(requests, cb, 0) },
		"SendTransaction": func(cb redis.Future) { p.cache.SendTransaction(requests, cb, 0) },
	}
	for name, send := range sends {
		get(t, p.cache, "key")
		require.True(t, kept(t, p.cache, "GET", "key"))
		p.hold()
		was := make(chan bool, 1)
		send(redis.FuncFuture(func(any, uint64) { was <- kept(t, p.cache, "GET", "key") }))
		assert.False(t, <-was, name)
		p.proxy.Heal()
		require.Eventually(t, func() bool { // wait until the push that was held back has arrived
			get(t, p.cache, "key")
			return kept(t, p.cache, "GET", "key")
		}, patient, time.Millisecond)
	}
}

// Servers report a key that another client moves to a different database, or overwrites with COPY.
func TestMovedAndCopied(t *testing.T) {
	t.Parallel()
	r := newRig(t, all)
	must(t, r.other.Do(t.Context(), "MSET", "moved", 1, "copied", 2, "from", 3))
	get(t, r.cache, "moved")
	get(t, r.cache, "copied")
	must(t, r.other.Do(t.Context(), "MOVE", "moved", 1))
	must(t, r.other.Do(t.Context(), "COPY", "from", "copied", "REPLACE"))
	require.Eventually(t, func() bool {
		value, _ := get(t, r.cache, "copied").([]byte)
		return get(t, r.cache, "moved") == nil && string(value) == "3"
	}, patient, time.Millisecond)
}
