package redisfailover_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscache"
	"github.com/joomcode/redispipe/redisfailover"
	"github.com/joomcode/redispipe/redistest/chaos"
	"github.com/joomcode/redispipe/testbed"
)

// ledger records how writes of unique values ended.
type ledger struct {
	mu    sync.Mutex // guards ended
	ended map[string]redis.Outcome
}

// write pushes unique values until ctx is done.
func (l *ledger) write(ctx context.Context, db redis.Sender, writer int) {
	for i := 0; ctx.Err() == nil; i++ {
		value := fmt.Sprintf("%d:%d", writer, i)
		res := redis.SyncCtx{S: db}.Do(context.Background(), "RPUSH", listOf(writer), value)
		l.mu.Lock()
		l.ended[value] = redis.OutcomeOf(res)
		l.mu.Unlock()
		time.Sleep(time.Millisecond)
	}
}

// listOf returns the key to which a writer pushes its values. There are four such keys.
func listOf(writer int) string { return fmt.Sprint("list", writer%4) }

// ask is the method Do of a server, or of a client.
type ask func(cmd string, args ...any) any

// verify compares the ledger with the values that the databases have.
func (l *ledger) verify(t *testing.T, databases ...ask) {
	ran := map[string]int{}
	for _, do := range databases {
		for writer := range 4 {
			values, err := redis.As[[]string](do("LRANGE", listOf(writer), 0, -1))
			require.NoError(t, err)
			for _, value := range values {
				ran[value]++
			}
		}
	}
	outcomes := map[redis.Outcome]int{}
	for value, outcome := range l.ended {
		outcomes[outcome]++
		switch n := ran[value]; outcome {
		case redis.OutcomeValue:
			assert.Equal(t, 1, n, "%s was acknowledged", value)
		case redis.OutcomeUnknown:
			assert.LessOrEqual(t, n, 1, "%s is unknown", value)
		default:
			assert.Zero(t, n, "%s: %v", value, outcome)
		}
		delete(ran, value)
	}
	assert.Empty(t, ran, "never sent")
	t.Logf("%v", outcomes)
}

// awaits waits until that member is active and its writes are answered.
func awaits(t *testing.T, db *redisfailover.Client, name string) {
	require.Eventually(t, func() bool {
		for _, m := range db.Members() {
			if m.Active {
				return m.Name == name && db.Do(t.Context(), "PING") == "PONG"
			}
		}
		return false
	}, time.Minute, time.Millisecond, "%s becomes active", name)
}

// Under load, two servers are killed and frozen, and the client switches between them. No write runs twice or
// is lost, and no write that was reported as not sent has run.
func TestWritesRunOnce(t *testing.T) {
	t.Parallel()
	near, far := testbed.NewServer(t, testbed.Options{Persist: true}), testbed.NewServer(t, testbed.Options{Persist: true})
	var members []redisfailover.Member
	for i, server := range []*testbed.Server{near, far} {
		members = append(members, redisfailover.Member{
			Name: []string{"near", "far"}[i], URL: "redis://" + server.Addr() + "?read_timeout=500ms", Weight: -i,
			Options: []redispipe.Option{redispipe.Logger(nil)},
		})
	}
	db, err := redisfailover.Open(t.Context(), members, redisfailover.Opts{
		Patience: 200 * time.Millisecond, Failback: 300 * time.Millisecond, Logger: redisfailover.NoopLogger{},
	})
	require.NoError(t, err)
	defer db.Close()
	l := ledger{ended: map[string]redis.Outcome{}}
	ctx, cancel := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	for writer := range 4 {
		writers.Go(func() { l.write(ctx, db, writer) })
	}
	awaits(t, db, "near")
	require.NoError(t, near.Pause())
	awaits(t, db, "far")
	require.NoError(t, near.Resume())
	awaits(t, db, "near")
	require.NoError(t, near.Kill())
	awaits(t, db, "far")
	require.NoError(t, near.Restart())
	awaits(t, db, "near")
	require.Eventually(t, func() bool { return db.SwitchTo("far") == nil }, time.Minute, time.Millisecond)
	cancel()
	writers.Wait()
	l.verify(t, near.Do, far.Do)
}

// A blocking command continues on the member that becomes active, for each kind of member. A program
// that opens its session again also continues there.
func TestBlockingGoesOn(t *testing.T) {
	t.Parallel()
	near, far := testbed.NewServer(t), testbed.NewServer(t)
	ctx := t.Context()
	client, err := redispipe.Open(ctx, "redis://"+near.Addr()+"?read_timeout=60s", redispipe.Logger(nil))
	require.NoError(t, err)
	cache, err := rediscache.New(client, rediscache.Opts{Prefixes: []string{""}})
	require.NoError(t, err)
	other, err := redispipe.Open(ctx, "redis://"+far.Addr()+"?read_timeout=60s", redispipe.Logger(nil), redispipe.Retry(redis.NoRetry))
	require.NoError(t, err)
	db, err := redisfailover.Open(ctx, []redisfailover.Member{{Name: "near", Sender: cache, Weight: 1}, {Name: "far", Sender: other}},
		redisfailover.Opts{Patience: time.Minute, Logger: redisfailover.NoopLogger{}})
	require.NoError(t, err)
	defer db.Close()
	popped := make(chan any, 1)
	go func() { popped <- db.Do(ctx, "BLPOP", "list", 0) }()
	require.Eventually(t, blocks(near), time.Minute, time.Millisecond)
	require.NoError(t, db.SwitchTo("far"))
	require.Eventually(t, blocks(far), time.Minute, time.Millisecond)
	require.False(t, blocks(near)())
	require.Equal(t, int64(1), far.Do("RPUSH", "list", "x"))
	require.Equal(t, []any{[]byte("list"), []byte("x")}, <-popped)
	require.NoError(t, db.Session(ctx, "", func(s *redis.Session) error { return redis.Err(s.Do("SET", "key", "far")) }))
	require.Equal(t, []byte("far"), far.Do("GET", "key"))

	attempts := 0
	_, err = db.Watch(ctx, []string{"key"}, func(tx *redis.Tx) error {
		if attempts++; attempts == 1 {
			require.NoError(t, db.SwitchTo("near"))
		}
		tx.Queue("SET", "key", "near")
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, 2, attempts)
	require.Equal(t, []byte("near"), near.Do("GET", "key"))
	require.Equal(t, []byte("far"), far.Do("GET", "key"))
	for range 3 {
		require.Equal(t, []byte("near"), db.Do(ctx, "GET", "key"))
	}
	_, err = rediscache.New(db, rediscache.Opts{})
	require.True(t, redis.AsErrorx(err).IsOfType(rediscache.ErrNoServers), "%v", err)
	require.NoError(t, db.Shutdown(ctx))
}

// A blocking command moves after SwitchTo even if its server takes long to unblock it. If the caller's context ends
// before the server has answered, the command ends.
func TestBlockingHasTimeToMove(t *testing.T) {
	t.Parallel()
	near, far := testbed.NewServer(t), testbed.NewServer(t)
	proxy := chaos.NewProxy(t, near.Addr(), chaos.ProxyOpts{})
	db, err := redisfailover.Open(t.Context(), []redisfailover.Member{
		{Name: "near", URL: "redis://" + proxy.Addr() + "?read_timeout=60s", Weight: 1, Options: []redispipe.Option{redispipe.Logger(nil)}},
		{Name: "far", URL: "redis://" + far.Addr() + "?read_timeout=60s", Options: []redispipe.Option{redispipe.Logger(nil)}},
	}, redisfailover.Opts{Patience: time.Minute, Logger: redisfailover.NoopLogger{}})
	require.NoError(t, err)
	defer db.Close()
	ctx, cancel := context.WithCancel(t.Context())
	popped := make(chan any, 1)
	pop := func(server *testbed.Server) {
		go func() { popped <- db.Do(ctx, "BLPOP", "list", 0) }()
		require.Eventually(t, blocks(server), time.Minute, time.Millisecond)
	}

	pop(near)
	proxy.Arm(chaos.Fault{Do: chaos.Delay, On: chaos.Replies, At: chaos.AtChance(1), Times: -1, Interval: 200 * time.Millisecond})
	require.NoError(t, db.SwitchTo("far"))
	require.Eventually(t, blocks(far), time.Minute, time.Millisecond)
	require.Equal(t, int64(1), far.Do("RPUSH", "list", "x"))
	require.Equal(t, []any{[]byte("list"), []byte("x")}, <-popped)

	proxy.Heal()
	require.NoError(t, db.SwitchTo("near"))
	pop(near)
	proxy.Arm(chaos.BlackHole(chaos.Replies))
	require.NoError(t, db.SwitchTo("far"))
	cancel()
	require.Equal(t, redis.OutcomeUnknown, redis.OutcomeOf(<-popped))
}

// Blocking commands also move if the connections to the members have no time-out.
func TestBlockingMovesWithoutTimeout(t *testing.T) {
	t.Parallel()
	servers := map[string]*testbed.Server{"near": testbed.NewServer(t), "far": testbed.NewServer(t)}
	members := make([]redisfailover.Member, 0, len(servers))
	for name, server := range servers {
		members = append(members, redisfailover.Member{
			Name: name, URL: "redis://" + server.Addr() + "?read_timeout=-1s", Weight: 1, Options: []redispipe.Option{redispipe.Logger(nil)},
		})
	}
	db, err := redisfailover.Open(t.Context(), members, redisfailover.Opts{Patience: time.Minute, Logger: redisfailover.NoopLogger{}})
	require.NoError(t, err)
	defer db.Close()
	popped := make(chan any, 1)
	go func() { popped <- db.Do(t.Context(), "BLPOP", "list", 0) }()
	for i := range 10 {
		name := []string{"near", "far"}[i%2]
		require.NoError(t, db.SwitchTo(name))
		require.Eventually(t, blocks(servers[name]), time.Minute, time.Millisecond)
	}
	require.Equal(t, int64(1), servers["far"].Do("RPUSH", "list", "x"))
	require.Equal(t, []any{[]byte("list"), []byte("x")}, <-popped)
}

// blocks returns a function that reports whether one client is blocked at the server.
func blocks(server *testbed.Server) func() bool {
	return func() bool {
		info, _ := redis.As[string](server.Do("INFO", "clients"))
		return strings.Contains(info, "blocked_clients:1")
	}
}

// Shutdown and Close of the client end a blocking command in the same way as Shutdown and Close of its member.
func TestTheEndOfBlocking(t *testing.T) {
	t.Parallel()
	server := testbed.NewServer(t)
	for _, shut := range []bool{true, false} {
		db, err := redisfailover.Open(t.Context(), []redisfailover.Member{{
			URL: "redis://" + server.Addr() + "?read_timeout=60s", Options: []redispipe.Option{redispipe.Logger(nil)},
		}}, redisfailover.Opts{Patience: time.Minute, Logger: redisfailover.NoopLogger{}})
		require.NoError(t, err)
		popped := make(chan any, 1)
		db.Send(redis.Req("BLPOP", "list", 0), redis.FuncFuture(func(res any, _ uint64) { popped <- res }), 0)
		require.Eventually(t, blocks(server), time.Minute, time.Millisecond)
		if shut {
			require.NoError(t, db.Shutdown(t.Context()))
			err := redis.AsErrorx(<-popped)
			require.True(t, err.IsOfType(redis.ErrContextClosed), "%v", err)
			require.Equal(t, redis.OutcomeNotSent, redis.OutcomeOf(err))
		} else {
			db.Close()
			require.NotErrorIs(t, redis.Err(<-popped), context.Canceled)
		}
	}
}

// A large batch of uncached requests is answered in order by a member with a cache.
func TestLargeBatchOfCache(t *testing.T) {
	t.Parallel()
	server := testbed.NewServer(t)
	client, err := redispipe.Open(t.Context(), "redis://"+server.Addr()+"?read_timeout=60s", redispipe.Logger(nil))
	require.NoError(t, err)
	cache, err := rediscache.New(client, rediscache.Opts{Prefixes: []string{""}})
	require.NoError(t, err)
	db, err := redisfailover.Open(t.Context(), []redisfailover.Member{{Sender: cache}}, redisfailover.Opts{Logger: redisfailover.NoopLogger{}})
	require.NoError(t, err)
	defer db.Close()
	require.Eventually(t, func() bool { return cache.Stats().Leases > 0 }, time.Minute, time.Millisecond)

	sets, gets := make([]redis.Request, 2000), make([]redis.Request, 2000)
	for i := range sets {
		sets[i], gets[i] = redis.Req("SET", i, i), redis.Req("GET", i)
	}
	require.NoError(t, redis.FirstError(db.DoMany(t.Context(), sets)))
	for range 2 {
		for i, res := range db.DoMany(t.Context(), gets) {
			require.Equal(t, fmt.Sprint(i), fmt.Sprintf("%s", res))
		}
	}
	require.EqualValues(t, len(gets), cache.Stats().Hits)
}
