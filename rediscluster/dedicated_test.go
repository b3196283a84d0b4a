package rediscluster

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster/internal/topology"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
)

// awaitBlocked waits until a client blocks on the list's node.
func awaitBlocked(t *testing.T, c *Cluster, key string) {
	t.Helper()
	await(t, "a blocked client", func() bool {
		for l := range c.refresher.links() {
			var info string
			if (redis.Sync{S: l.Conn}).DoInto(&info, "CLIENT", "LIST") == nil && strings.Contains(info, "flags=b") {
				return true
			}
		}
		return false
	})
}

// untilWithdrawn cancels blocking commands until the server has unblocked one in time. If the server is
// too slow, the client closes the connection soon after the end of the context, and the outcome is
// unknown.
func untilWithdrawn(t *testing.T, c *Cluster) {
	t.Helper()
	for withdrawn := false; !withdrawn; {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan any, 1)
		go func() { done <- redis.SyncCtx{S: c}.Do(ctx, "BLPOP", "queue", 0) }()
		awaitBlocked(t, c, "queue")
		cancel()
		err := redis.AsErrorx(<-done)
		require.True(t, err.IsOfType(redis.ErrRequestCancelled), "%v", err)
		withdrawn = err.IsOfType(redis.ErrRequestWithdrawn)
	}
}

func TestBlockingInCluster(t *testing.T) {
	tb := sharedCluster(t)
	c, _ := connect(t, tb.Addrs(), Opts{})
	s := redis.Sync{S: c}
	done := make(chan any, 1)
	go func() { done <- s.Do("BLPOP", "queue", 0) }()
	awaitBlocked(t, c, "queue")
	require.Equal(t, int64(1), s.Do("RPUSH", "queue", "x"))
	require.Equal(t, []any{[]byte("queue"), []byte("x")}, <-done)

	untilWithdrawn(t, c)
	isType(t, redis.ErrNoSlotKey, s.Do("BLPOP", "a", "b", 0))
	isType(t, redis.ErrArgumentType, s.Do("BLPOP", "a", "soon"))
}

// A command that blocks on a key of a moving slot continues on the new node.
func TestBlockingFollowsSlot(t *testing.T) {
	tb := sharedMasters.of(t)
	c, _ := connect(t, tb.Addrs(), Opts{})
	s := redis.Sync{S: c}
	done := make(chan any, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { done <- redis.SyncCtx{S: c}.Do(ctx, "BLPOP", "queue", 0) }()
	awaitBlocked(t, c, "queue")
	slot, from := owner(t, tb, "queue")
	require.NoError(t, tb.MoveSlot(slot, another(t, tb, from)))
	awaitBlocked(t, c, "queue")
	require.Equal(t, int64(1), s.Do("RPUSH", "queue", "x"))
	require.Equal(t, []any{[]byte("queue"), []byte("x")}, <-done)

	untilWithdrawn(t, c) // a context still ends a command that has followed redirects
}

func TestWatchInCluster(t *testing.T) {
	tb := sharedCluster(t)
	c, _ := connect(t, tb.Addrs(), Opts{})
	const workers, rounds = 16, 10
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for range rounds {
				_, err := redis.Watch(context.Background(), c, []string{"{watch}a", "{watch}b"}, func(tx *redis.Tx) error {
					var n int64
					if err := tx.DoInto(&n, "GET", "{watch}a"); err != nil && !redis.AsErrorx(err).IsOfType(redis.ErrResponseNil) {
						return err
					}
					tx.Queue("SET", "{watch}a", n+1)
					return nil
				})
				assert.NoError(t, err)
			}
		})
	}
	wg.Wait()
	var n int64
	require.NoError(t, redis.Sync{S: c}.DoInto(&n, "GET", "{watch}a"))
	require.Equal(t, int64(workers*rounds), n)

	_, err := redis.Watch(t.Context(), c, []string{"a", "b"}, func(*redis.Tx) error { return nil })
	isType(t, redis.ErrNoSlotKey, err)
	_, err = redis.Watch(t.Context(), struct{ *Cluster }{c}, []string{"a"}, func(*redis.Tx) error { return nil })
	isType(t, redis.ErrSession, err)
	_, err = redis.Watch(t.Context(), c.WithPolicy(PreferSlaves), []string{"a"}, func(*redis.Tx) error { return nil })
	require.NoError(t, err)
}

// A transaction can't use a key of another node: the call fails at once.
func TestWatchKeyOfAnotherNode(t *testing.T) {
	tb := sharedCluster(t)
	c, _ := connect(t, tb.Addrs(), calm)
	_, here := owner(t, tb, "{a}")
	key := ""
	for i := 0; key == ""; i++ {
		if _, there := owner(t, tb, fmt.Sprint(i)); there != here {
			key = fmt.Sprint(i)
		}
	}
	for name, f := range map[string]func(*redis.Tx) error{
		"read":   func(tx *redis.Tx) error { return redis.AsError(tx.Do("GET", key)) },
		"queued": func(tx *redis.Tx) error { tx.Queue("SET", key, 1); return nil },
		"wrapped": func(tx *redis.Tx) error {
			var v string
			return fmt.Errorf("wrapped: %w", tx.DoInto(&v, "GET", key))
		},
	} {
		calls := 0
		_, err := redis.Watch(t.Context(), c, []string{"{a}"}, func(tx *redis.Tx) error {
			calls++
			tx.Queue("SET", "{a}", 1)
			return f(tx)
		})
		isType(t, redis.ErrNoSlotKey, err)
		assert.Equal(t, 1, calls, name)
	}
	assert.Nil(t, redis.Sync{S: c}.Do("GET", "{a}"))
}

// A session that began on a node that no longer has its slot continues on the node that has it.
func TestSessionFollowsMoved(t *testing.T) {
	tb := sharedMasters.of(t)
	slot, from := owner(t, tb, "{s}")
	to := another(t, tb, from)
	for name, begin := range map[string]func(*testing.T, *redis.Session){
		"request": func(t *testing.T, s *redis.Session) { require.Equal(t, "OK", s.Do("WATCH", "{s}")) },
		"transaction": func(t *testing.T, s *redis.Session) {
			_, err := s.SendTransaction([]redis.Request{redis.Req("SET", "{s}1", 1), redis.Req("INCR", "{s}2")})
			require.NoError(t, err)
		},
		"blocking": func(t *testing.T, s *redis.Session) { require.Nil(t, s.Do("BLPOP", "{s}list", 0.01)) },
	} {
		t.Run(name, func(t *testing.T) {
			c, _ := connect(t, tb.Addrs(), calm)
			require.NoError(t, tb.MoveSlot(slot, to))
			from, to = to, from
			require.NoError(t, redis.WithSession(t.Context(), c, "{s}", func(s *redis.Session) error {
				begin(t, s)
				require.Equal(t, "OK", s.Do("SET", "{s}", name))
				require.NoError(t, tb.MoveSlot(slot, to))
				from, to = to, from
				isType(t, redis.ErrMoved, s.Do("GET", "{s}"))
				isType(t, redis.ErrMoved, s.Do("GET", "{s}"))
				return nil
			}))
			require.EqualValues(t, 1, c.Stats().Moved)
			require.NoError(t, redis.WithSession(t.Context(), c, "{s}", func(s *redis.Session) error {
				require.Equal(t, []byte(name), s.Do("GET", "{s}"))
				return nil
			}))
		})
	}
}

// openSession opens sessions until one gets an answer to GET other than a redirect.
func openSession(t *testing.T, c *Cluster, slotKey, key string) (*redis.Session, any) {
	t.Helper()
	for began := time.Now(); ; {
		session, err := redis.OpenSession(t.Context(), c, slotKey)
		require.NoError(t, err)
		res := session.Do("GET", key)
		if err := redis.AsErrorx(res); err == nil || !err.HasTrait(redis.ErrTraitClusterMove) || time.Since(began) > patience {
			return session, res
		}
		session.Close()
	}
}

// While a slot is moving, sessions, Watch and blocking commands follow ASK for keys that were
// already moved. They continue when the move ends.
func TestDedicatedFollowsAsk(t *testing.T) {
	tb := sharedMasters.of(t)
	c, _ := connect(t, tb.Addrs(), Opts{CheckInterval: time.Minute, MovedRetries: maxMovedRetries}) // ASK may have to be followed several times
	s := redis.Sync{S: c}
	slot, from := owner(t, tb, "{a}")
	to := another(t, tb, from)
	require.Equal(t, "OK", s.Do("SET", "{a}n", 1))
	m, err := tb.BeginMigration(slot, to)
	require.NoError(t, err)
	increment := func(moved func()) error {
		_, err := redis.Watch(t.Context(), c, []string{"{a}n"}, func(tx *redis.Tx) error {
			var n int64
			if err := tx.DoInto(&n, "GET", "{a}n"); err != nil {
				return err
			}
			moved()
			tx.Queue("SET", "{a}n", n+1)
			return nil
		})
		return err
	}
	require.NoError(t, increment(sync.OnceFunc(func() { require.NoError(t, m.MoveKeys("{a}n")) })), "it goes in between")
	require.NoError(t, increment(func() {}), "it has gone")
	require.Equal(t, []byte("3"), s.Do("GET", "{a}n"))

	session, res := openSession(t, c, "{a}", "{a}n")
	defer session.Close()
	require.Equal(t, []byte("3"), res)
	// inSession calls f with new sessions until f gets an answer other than a redirect.
	inSession := func(f func(s *redis.Session) any) (res any) {
		for began := time.Now(); time.Since(began) < patience; {
			_ = redis.WithSession(t.Context(), c, "{a}", func(s *redis.Session) error {
				res = f(s)
				return nil
			})
			if err := redis.AsErrorx(res); err == nil || !err.HasTrait(redis.ErrTraitClusterMove) {
				break
			}
		}
		return res
	}
	require.Equal(t, "OK", inSession(func(s *redis.Session) any { return s.SendMany([]redis.Request{redis.Req("SET", "{a}m", "new")})[0] }))
	require.Equal(t, []any{int64(4)}, inSession(func(s *redis.Session) any {
		for _, cmd := range []string{"GET", "MULTI", "INCR"} { // the answer to GET is the redirect
			args := []any{"{a}n"}
			if cmd == "MULTI" {
				args = nil
			}
			if err := redis.AsError(s.Do(cmd, args...)); err != nil {
				return err
			}
		}
		return s.Do("EXEC")
	}))
	require.Equal(t, []any{int64(5), []byte("new")}, inSession(func(s *redis.Session) any {
		results, err := s.SendTransaction([]redis.Request{redis.Req("INCR", "{a}n"), redis.Req("GET", "{a}m")})
		if err != nil {
			return err
		}
		return results
	}))

	popped := []any{[]byte("{a}list"), []byte("x")}
	pops := map[string]func() any{
		"shared": func() any { return s.Do("BLPOP", "{a}list", 0) },
		"session": func() any {
			return inSession(func(s *redis.Session) any { return s.Do("BLPOP", "{a}list", 0) })
		},
	}
	for name, pop := range pops {
		done := make(chan any, 1)
		go func() { done <- pop() }()
		awaitBlocked(t, c, "{a}list")
		require.Equal(t, int64(1), s.Do("RPUSH", "{a}list", "x"), name)
		require.Equal(t, popped, <-done, name)
	}

	require.NoError(t, m.MoveAll())
	require.NoError(t, m.Finish())
	require.NoError(t, tb.WaitAgreed())
	require.Equal(t, int64(6), session.Do("INCR", "{a}n"), "it is there already")
	require.NoError(t, increment(func() {}))
	require.Equal(t, []byte("7"), s.Do("GET", "{a}n"))
}

// A session that followed ASK to a node creates no key there if that node later becomes the target
// of another move of the slot.
func TestAskIsOverWhenSlotComesBack(t *testing.T) {
	tb := sharedMasters.of(t)
	c, _ := connect(t, tb.Addrs(), calm)
	s := redis.Sync{S: c}
	slot, from := owner(t, tb, "{a}")
	to := another(t, tb, from)
	require.Equal(t, "OK", s.Do("SET", "{a}n", 1))
	m, err := tb.BeginMigration(slot, to)
	require.NoError(t, err)
	require.NoError(t, m.MoveAll())
	session, res := openSession(t, c, "{a}", "{a}n")
	defer session.Close()
	require.Equal(t, []byte("1"), res)
	asked := time.Now()
	require.NoError(t, m.Finish())
	require.NoError(t, tb.WaitAgreed())
	require.NoError(t, tb.MoveSlot(slot, from))
	m, err = tb.BeginMigration(slot, to)
	require.NoError(t, err)
	await(t, "the end of ASK", func() bool { return time.Since(asked) > 100*time.Millisecond })
	isType(t, redis.ErrMoved, session.Do("SET", "{a}n", "made anew"))
	require.NoError(t, m.MoveAll())
	require.NoError(t, m.Finish())
	require.NoError(t, tb.WaitAgreed())
	require.Equal(t, []byte("1"), s.Do("GET", "{a}n"))
}

// Sessions follow the rules of requests: if a node has just been lost, OpenSession waits for it,
// for a limited time and until its context ends.
func TestSessionWaitsForNode(t *testing.T) {
	tb := sharedCluster(t)
	c, _ := connect(t, tb.Addrs(), calm)
	slot, _ := owner(t, tb, "key")
	links := c.topology.Load().Shard(slot).Master.Links
	have := func(event redisconn.LogEvent) {
		for _, l := range links {
			l.Note(l.Conn, event)
		}
	}
	// open opens a session while the node is down, and calls then when OpenSession waits for the
	// node.
	open := func(ctx context.Context, then func()) error {
		have(redisconn.LogDisconnected{})
		defer have(redisconn.LogConnected{})
		before := c.Stats().Retries
		opened := make(chan error, 1)
		go func() {
			opened <- redis.WithSession(ctx, c, "key", func(s *redis.Session) error {
				return redis.AsError(s.Do("SET", "key", 1))
			})
		}()
		await(t, "it waits", func() bool { return c.Stats().Retries > before })
		then()
		return <-opened
	}
	await(t, "it is opened in time", func() bool { return open(t.Context(), func() { have(redisconn.LogConnected{}) }) == nil })
	await(t, "it leaves in time", func() bool {
		ctx, cancel := context.WithCancel(t.Context())
		err := redis.AsErrorx(open(ctx, cancel))
		return err.IsOfType(redis.ErrRequestWithdrawn) && redis.CausedBy(err, context.Canceled)
	})
	err := open(t.Context(), func() {})
	isType(t, ErrNoAliveConnection, err)
	require.Equal(t, redis.OutcomeNotSent, redis.OutcomeOf(err))
	require.Zero(t, c.Stats().Waiting)
}

// A caller that waits for the topology, because MOVED names an unknown node, leaves when its
// context ends.
func TestBlockingLeavesRefresh(t *testing.T) {
	node := newScriptedNode(t, chaos.ScriptedReplies("-MOVED 0 127.0.0.1:1\r\n"))
	c, _ := connect(t, []string{node.Addr()}, Opts{CheckInterval: time.Hour, HostOpts: redisconn.Opts{IOTimeout: time.Hour}})
	silent := ""
	node.slots.Store(&silent)
	asked := node.asked.Load()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan any, 1)
	go func() { done <- redis.SyncCtx{S: c}.Do(ctx, "BLPOP", "list", 0) }()
	await(t, "the topology is asked for", func() bool { return node.asked.Load() > asked })
	cancel()
	select {
	case res := <-done:
		isType(t, redis.ErrRequestWithdrawn, res)
		require.Equal(t, redis.OutcomeNotSent, redis.OutcomeOf(res), "it was refused, and nothing has run")
	case <-time.After(patience):
		t.Fatal("the context is not heeded")
	}
}

// Shutdown ends blocking commands, and waits for sessions.
func TestShutdownOfDedicated(t *testing.T) {
	tb := sharedCluster(t)
	c, _ := connect(t, tb.Addrs(), Opts{ConnsPerHost: 1, HostOpts: redisconn.Opts{DedicatedConns: 1}})
	done := make(chan any, 8)
	for range cap(done) { // one command for each node blocks, and the others wait for a connection
		go func() { done <- redis.Sync{S: c}.Do("BLPOP", "queue", 0) }()
	}
	awaitBlocked(t, c, "queue")
	await(t, "the others", func() bool {
		select {
		case res := <-done:
			t.Fatalf("one has not waited: %v", res)
		default:
		}
		return c.Stats().Total.Dedicated.Waiting == cap(done)-1
	})
	require.NoError(t, c.Shutdown(t.Context()))
	for range cap(done) {
		res := <-done
		isType(t, redis.ErrContextClosed, res)
		require.Equal(t, redis.OutcomeNotSent, redis.OutcomeOf(res))
	}

	c, _ = connect(t, tb.Addrs(), Opts{})
	session, err := redis.OpenSession(t.Context(), c, "key")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Shutdown(ctx) }()
	await(t, "nothing is taken", c.draining.Load)
	_, err = redis.OpenSession(t.Context(), c, "key")
	isType(t, redis.ErrContextClosed, err)
	require.Equal(t, "OK", session.Do("SET", "key", 1))
	cancel()
	isType(t, ErrShutdown, <-ended)
	session.Close()
}

// A blocking command that was sent again, and has blocked since, is sent again after the next
// refusal as well.
func TestBlockingIsRefusedAgain(t *testing.T) {
	refusals := []string{"-LOADING later\r\n", "-CLUSTERDOWN The cluster is down\r\n", "-READONLY no\r\n"}
	var results []<-chan any
	for _, refusal := range refusals {
		var tries atomic.Int64
		node := newScriptedNode(t, func(c *chaos.ScriptedConn, r chaos.ScriptedRequest) error {
			reply := "+OK\r\n"
			if r.Cmd == "BLPOP" {
				reply = refusal
				switch tries.Add(1) {
				case 1:
				case 2:
					if err := c.Sleep(maxElapsed * 5 / 4); err != nil {
						return err
					}
				default:
					reply = "*2\r\n$1\r\nq\r\n$1\r\nx\r\n"
				}
			}
			_, err := c.Write([]byte(reply))
			return err
		})
		c, _ := connect(t, []string{node.Addr()}, Opts{})
		result := make(chan any, 1)
		results = append(results, result)
		go func() { result <- redis.Sync{S: c}.Do("BLPOP", "q", 0) }()
	}
	for i, result := range results {
		require.Equal(t, []any{[]byte("q"), []byte("x")}, <-result, refusals[i])
	}
}

// If the node of a session leaves the cluster, a blocking command of the session fails. The error says
// that the node has left, not that the cluster is closed.
func TestSessionOfNodeThatLeaves(t *testing.T) {
	tb := sharedCluster(t)
	c, _ := connect(t, tb.Addrs(), calm)
	session, err := redis.OpenSession(t.Context(), c, "queue")
	require.NoError(t, err)
	defer session.Close()
	done := make(chan any, 1)
	go func() { done <- session.Do("BLPOP", "queue", 0) }()
	awaitBlocked(t, c, "queue")
	_, from := owner(t, tb, "queue")
	require.True(t, c.refresher.publish(t.Context(), &topology.Layout{Shards: []topology.Shard{{Master: another(t, tb, from).Addr()}}}))
	res := <-done
	isType(t, redisconn.ErrNotConnected, res)
	require.True(t, redis.SafeToRetry(redis.AsError(res)))
	require.NotErrorIs(t, redis.Err(res), context.Canceled)
}
