package rediscluster

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/joomcode/errorx"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/lab/drill"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster/internal/route"
	"github.com/joomcode/redispipe/rediscluster/internal/topology"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
	"github.com/joomcode/redispipe/testbed"
)

// calm holds options with which the cluster does not poll the topology during a test.
var calm = Opts{CheckInterval: time.Minute}

// stubborn is like calm, and keeps retrying after TRYAGAIN until a test has moved the keys.
var stubborn = Opts{CheckInterval: time.Minute, WaitToMigrate: 200 * time.Millisecond}

func TestMovedIsFollowed(t *testing.T) {
	tb := sharedMasters.of(t)
	c, rec := connect(t, tb.Addrs(), calm)
	s := redis.Sync{S: c}
	require.Equal(t, "OK", s.Do("SET", "key", "value"))
	slot, from := owner(t, tb, "key")
	to := another(t, tb, from)
	require.NoError(t, tb.MoveSlot(slot, to))
	rec.take()

	require.Equal(t, []byte("value"), s.Do("GET", "key"))
	answers, replies := rec.take()
	assert.Equal(t, map[string]int{"MOVED": 1}, replies)
	assert.Equal(t, map[string]int{from.Addr(): 1, to.Addr(): 1}, answers)

	// MOVED makes the cluster read the topology again, so the next requests go to the right node at
	// once.
	awaitOwner(t, c, slot, to)
	rec.take()
	require.Equal(t, []byte("value"), s.Do("GET", "key"))
	require.Equal(t, "OK", s.Do("SET", "key", "other"))
	answers, replies = rec.take()
	assert.Empty(t, replies)
	assert.Equal(t, map[string]int{to.Addr(): 2}, answers)
}

func TestAskIsFollowed(t *testing.T) {
	tb := sharedCluster(t)
	c, rec := connect(t, tb.Addrs(), calm)
	s := redis.Sync{S: c}
	require.Equal(t, "OK", s.Do("SET", "{ask}here", 1))
	require.Equal(t, "OK", s.Do("SET", "{ask}there", 2))
	slot, from := owner(t, tb, "{ask}")
	m, err := tb.BeginMigration(slot, another(t, tb, from))
	require.NoError(t, err)
	defer func() { require.NoError(t, m.Abort()) }()
	require.NoError(t, m.MoveKeys("{ask}there"))
	rec.take()

	assert.Equal(t, []byte("1"), s.Do("GET", "{ask}here"))
	assert.Equal(t, []byte("2"), s.Do("GET", "{ask}there"))
	assert.Equal(t, "OK", s.Do("SET", "{ask}new", strings.Repeat("x", 100<<10)))
	var number int64
	require.NoError(t, redis.SyncCtx{S: c}.DoInto(context.Background(), &number, "GET", "{ask}there"))
	assert.Equal(t, int64(2), number)
	_, replies := rec.take()
	assert.Equal(t, map[string]int{"ASK": 3}, replies)
	assert.Equal(t, from.Addr(), c.topology.Load().Shard(slot).Master.Addr, "the slot stays")

	results := s.SendMany([]redis.Request{
		redis.Req("GET", "{ask}there"), redis.Req("GET", "{ask}here"), redis.Req("INCR", "{ask}there"),
	})
	assert.Equal(t, []any{[]byte("2"), []byte("1"), int64(3)}, results)
}

func TestTryAgainIsWaitedFor(t *testing.T) {
	tb := sharedCluster(t)
	c, rec := connect(t, tb.Addrs(), stubborn)
	s := redis.Sync{S: c}
	require.Equal(t, "OK", s.Do("MSET", "{try}1", 1, "{try}2", 2))
	slot, from := owner(t, tb, "{try}")
	m, err := tb.BeginMigration(slot, another(t, tb, from))
	require.NoError(t, err)
	defer func() { require.NoError(t, m.Abort()) }()
	require.NoError(t, m.MoveKeys("{try}1"))

	done := make(chan any, 1)
	go func() { done <- s.Do("MGET", "{try}1", "{try}2") }()
	await(t, "TRYAGAIN", func() bool {
		rec.mu.Lock()
		defer rec.mu.Unlock()
		return rec.replies["TRYAGAIN"] > 0
	})
	require.NoError(t, m.MoveAll())
	assert.Equal(t, []any{[]byte("1"), []byte("2")}, <-done)

	quick, _ := connect(t, tb.Addrs(), Opts{CheckInterval: time.Minute, WaitToMigrate: time.Millisecond})
	require.Equal(t, int64(1), s.Do("DEL", "{try}1")) // now one of the two keys has moved, and the other does not exist
	isType(t, redis.ErrTryAgain, redis.Sync{S: quick}.Do("MGET", "{try}1", "{try}2"))
}

// forge runs a script that returns an error with the given text.
func forge(s redis.Sync, text string) any {
	return s.Do("EVAL", "return redis.error_reply(ARGV[1])", 1, "key", text)
}

func TestForgedRedirects(t *testing.T) {
	tb := sharedCluster(t)
	secret, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer secret.Close()
	var dialed atomic.Int64
	go func() {
		for {
			conn, err := secret.Accept()
			if err != nil {
				return
			}
			dialed.Add(1)
			conn.Close()
		}
	}()
	c, rec := connect(t, tb.Addrs(), Opts{CheckInterval: time.Minute, MovedRetries: 2})
	s := redis.Sync{S: c}
	slot, n := owner(t, tb, "key")
	other := another(t, tb, n)
	_, port, _ := net.SplitHostPort(n.Addr())

	cases := []struct {
		name, text string
		want       interface{ String() string }
		answers    int // how many answers the caller's one request may cause at most
	}{
		{"to itself", fmt.Sprintf("MOVED %d %s", slot, n.Addr()), redis.ErrMoved, 3},
		{"to the host that answered", fmt.Sprintf("MOVED %d :%s", slot, port), redis.ErrMoved, 3},
		{"to another", fmt.Sprintf("MOVED %d %s", slot, other.Addr()), redis.ErrMoved, 3},
		{"to a stranger", fmt.Sprintf("MOVED %d %s", slot, secret.Addr()), redis.ErrMoved, 3},
		{"ASK a stranger", fmt.Sprintf("ASK %d %s", slot, secret.Addr()), redis.ErrAsk, 3},
		{"ASK itself", fmt.Sprintf("ASK %d %s", slot, n.Addr()), redis.ErrAsk, 3},
		{"no port", fmt.Sprintf("MOVED %d foo", slot), redis.ErrMoved, 1},
		{"ASK without a port", fmt.Sprintf("ASK %d foo", slot), redis.ErrAsk, 1},
		{"ASK foo", "ASK foo", redis.ErrResponseFormat, 1},
		{"MOVED x", "MOVED x", redis.ErrResponseFormat, 1},
		{"a slot too many", "MOVED 16384 127.0.0.1:1", redis.ErrResponseFormat, 1},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			rec.take()
			isType(t, tc.want, forge(s, tc.text))
			answers, _ := rec.take()
			total := 0
			for _, n := range answers {
				total += n
			}
			// If the script goes to a node that does not serve its key, the answer is a genuine MOVED.
			assert.LessOrEqual(t, total, tc.answers)
			assert.Equal(t, n.Addr(), c.topology.Load().Shard(slot).Master.Addr)
		})
	}
	assert.Zero(t, dialed.Load(), "nothing goes to a host that only a redirect named")
	assert.Equal(t, "OK", s.Do("SET", "key", "value"))
}

func TestUnknownMovedTargetThatTheTopologyConfirms(t *testing.T) {
	drill.Rotate(t)
	t.Parallel()
	tb := testbed.NewCluster(t, testbed.ClusterOptions{Replicas: -1})
	c, rec := connect(t, tb.Addrs(), calm)
	s := redis.Sync{S: c}
	require.Equal(t, "OK", s.Do("SET", "key", "value"))
	slot, _ := owner(t, tb, "key")
	seventh, err := tb.AddMaster()
	require.NoError(t, err)
	m, err := tb.BeginMigration(slot, seventh)
	require.NoError(t, err)

	// ASK names a master that the client does not know.
	require.Nil(t, c.topology.Load().Find(seventh.Addr()))
	await(t, "ASK to be followed once the node is connected", func() bool { return s.Do("SET", "{key}new", "x") == "OK" })
	require.NoError(t, m.MoveAll())
	assert.Equal(t, []byte("value"), s.Do("GET", "key"))
	require.NoError(t, m.Finish())
	assert.Equal(t, []byte("value"), s.Do("GET", "key"))
	awaitOwner(t, c, slot, seventh)
	rec.take()
	assert.Equal(t, []byte("x"), s.Do("GET", "{key}new"))
	_, replies := rec.take()
	assert.Empty(t, replies)
}

// TestSlotsMoveUnderLoad: callers do not notice that slots move.
func TestSlotsMoveUnderLoad(t *testing.T) {
	tb := sharedMasters.of(t)
	c, rec := connect(t, tb.Addrs(), Opts{})
	s := redis.Sync{S: c}
	stop := make(chan struct{})
	var all sync.WaitGroup
	var sent atomic.Int64
	for g := range 16 {
		all.Go(func() {
			tag := fmt.Sprintf("{%d}", g%4)
			counter, list := fmt.Sprintf("%scounter:%d", tag, g), fmt.Sprintf("%slist:%d", tag, g)
			for i := int64(1); ; i += 2 {
				select {
				case <-stop:
					return
				default:
				}
				if res := s.Do("INCR", counter); !assert.Equal(t, i, res) {
					return
				}
				got, err := s.SendTransaction([]redis.Request{redis.Req("INCR", counter), redis.Req("RPUSH", list, i)})
				if !assert.NoError(t, err) || !assert.Equal(t, []any{i + 1, (i + 1) / 2}, got) {
					return
				}
				if got := s.SendMany([]redis.Request{redis.Req("GET", counter), redis.Req("LLEN", list)}); !assert.Equal(t, []any{[]byte(fmt.Sprint(i + 1)), (i + 1) / 2}, got) {
					return
				}
				sent.Add(1)
			}
		})
	}
	for round := range 6 {
		slot, from := owner(t, tb, fmt.Sprintf("{%d}", round%4))
		m, err := tb.BeginMigration(slot, another(t, tb, from))
		require.NoError(t, err)
		for _, step := range []func() error{
			func() error { _, err := m.MoveSome(3); return err },
			m.MoveAll,
			func() error { return drainAll(m) },
		} {
			before := sent.Load()
			await(t, "progress", func() bool { return sent.Load() > before+20 || t.Failed() })
			require.NoError(t, step())
		}
	}
	close(stop)
	all.Wait()
	_, replies := rec.take()
	t.Log(sent.Load(), "rounds", replies)
	assert.Positive(t, replies["ASK"]+replies["MOVED"], "it was not tested")
}

// drainAll moves all keys that are left, including new ones, and ends the migration.
func drainAll(m *testbed.Migration) error {
	if err := m.MoveAll(); err != nil {
		return err
	}
	return m.Finish()
}

func TestReadIsRepeatedAndWriteIsNot(t *testing.T) {
	tb := sharedMasters.of(t)
	c, _ := connect(t, tb.Addrs(), Opts{CheckInterval: time.Minute, HostOpts: redisconn.Opts{IOTimeout: time.Second}})
	s := redis.Sync{S: c}
	require.Equal(t, "OK", s.Do("SET", "key", "value"))
	_, n := owner(t, tb, "key")
	require.NoError(t, n.Pause())
	isType(t, redis.ErrIO, s.Do("INCR", "{key}counter"))
	require.NoError(t, n.Resume())
	await(t, "recovery", func() bool { return redis.AsError(s.Do("GET", "key")) == nil })
	assert.Contains(t, []any{nil, []byte("1")}, s.Do("GET", "{key}counter"), "it ran once, or never")

	// A read whose connection is cut continues over another one.
	var all sync.WaitGroup
	stop := make(chan struct{})
	for range 8 {
		all.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if !assert.Equal(t, []byte("value"), s.Do("GET", "key")) {
					return
				}
			}
		})
	}
	links, before := c.topology.Load().Find(n.Addr()).Links, c.Stats().Retries
	await(t, "reads that are cut", func() bool {
		if links[0].Up() && links[1].Up() {
			n.Do("CLIENT KILL", "ID", redis.Sync{S: links[0].Conn}.Do("CLIENT", "ID"))
		}
		return c.Stats().Retries >= before+5 || t.Failed()
	})
	close(stop)
	all.Wait()
}

// TestFollowIsBounded: requests that were redirected to an unknown node wait until the topology is
// read again, unless maxWaiting requests already wait.
func TestFollowIsBounded(t *testing.T) {
	node := newScriptedNode(t, chaos.ScriptedReplies("-MOVED 1 127.0.0.1:1\r\n"))
	c, _ := connect(t, []string{node.Addr()}, calm)
	c.waiting.Store(maxWaiting)
	defer c.waiting.Store(0)
	s := redis.Sync{S: c}
	isType(t, redis.ErrMoved, s.Do("GET", "key"))
	assert.Equal(t, int64(maxWaiting), c.waiting.Load())
	sent := 0
	for _, r := range node.Requests() {
		if r.Cmd == "GET" {
			sent++
		}
	}
	assert.Equal(t, 1, sent, "it has waited")
}

// left is a retryable whose caller has left.
type left struct{ why *errorx.Error }

func (*left) sendTo(*redisconn.Connection, bool) {}
func (l *left) fail(err *errorx.Error)           { l.why = err }
func (*left) nature() send.Nature                { return send.Nature{Twice: true} }
func (*left) Cancelled() error                   { return context.Canceled }

// A caller that leaves between two attempts gets the outcome of the attempts made so far.
func TestCancelledBetweenAttempts(t *testing.T) {
	for want, unknown := range map[*errorx.Type]*errorx.Error{
		redis.ErrRequestWithdrawn: nil,
		redis.ErrRequestCancelled: redis.ErrIO.New("lost"),
	} {
		r := &left{}
		k := &retrier{request: r}
		k.attempts.Failed(unknown)
		k.resume(new(pausing))
		isType(t, want, r.why)
		assert.True(t, redis.CausedBy(r.why, context.Canceled), "%v", r.why)
	}
}

// leaving is a retryable whose caller leaves right after the first call of Cancelled.
type leaving struct {
	left
	caller func()
}

func (l *leaving) Cancelled() error {
	if l.caller == nil {
		return l.left.Cancelled()
	}
	l.caller()
	l.caller = nil
	return nil
}

// If the caller's result says that the request will not run, no further attempt starts.
func TestCancelledAtTheEndOfAPause(t *testing.T) {
	var p pausing
	r := &leaving{caller: func() { assert.True(t, p.Unsent()) }}
	k := &retrier{c: &Cluster{}, request: r}
	k.resume(&p)
	isType(t, redis.ErrRequestWithdrawn, r.why)
}

// parting is a retryable whose caller has left. After it is resolved, it may be reused.
type parting struct {
	retrier
	ctx      context.Context
	resolved chan struct{}
}

func (p *parting) Context() context.Context           { return p.ctx }
func (p *parting) Cancelled() error                   { return p.ctx.Err() }
func (p *parting) nature() send.Nature                { return send.Nature{} }
func (p *parting) sendTo(*redisconn.Connection, bool) {}
func (p *parting) fail(*errorx.Error) {
	p.leave()
	p.retrier = retrier{}
	close(p.resolved)
}

// While a request waits for another attempt, the end of its context may resolve it at any time. After
// that the library does not touch the request. The race detector checks this.
func TestRetryTouchesNothingLater(t *testing.T) {
	c := &Cluster{ctx: t.Context()}
	c.topology.Store(route.New(topology.Empty(), nil))
	c.refresher = newRefresher(c, nil)
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for name, wait := range map[string]func(p *parting){
		"a pause": func(p *parting) { p.retryAfter(redis.ErrTryAgain.New("x"), time.Second) },
		"a refresh": func(p *parting) {
			p.sendToTarget(redis.ErrMoved.New("x"), decision{Host: "nowhere", Port: 1})
		},
	} {
		t.Run(name, func(t *testing.T) {
			for range 200 {
				p := &parting{retrier: retrier{c: c}, ctx: ended, resolved: make(chan struct{})}
				p.request = p
				wait(p)
				<-p.resolved
			}
		})
	}
}

// While a node does not know the new owner of a slot, it answers CLUSTERDOWN. The cluster retries for
// longer than after other failures.
func TestClusterDownForLong(t *testing.T) {
	var downs atomic.Int64
	node := newScriptedNode(t, func(c *chaos.ScriptedConn, _ chaos.ScriptedRequest) error {
		reply := "-CLUSTERDOWN The cluster is down\r\n"
		if downs.Add(1) > 12 {
			reply = "+OK\r\n"
		}
		_, err := c.Write([]byte(reply))
		return err
	})
	c, _ := connect(t, []string{node.Addr()}, calm)
	await(t, "OK", func() bool { // at the first try, unless this process does not run for half a second
		downs.Store(0)
		return redis.Sync{S: c}.Do("SET", "a", 1) == "OK"
	})
}

// A request that gets LOADING is retried. A request that gets MISCONF, because the server can't write to
// its disk, is not.
func TestLoadingAndMisconf(t *testing.T) {
	var asked atomic.Int32
	node := newScriptedNode(t, func(c *chaos.ScriptedConn, r chaos.ScriptedRequest) error {
		reply := "+OK\r\n"
		switch {
		case r.Cmd == "GET" && asked.Add(1) <= 2:
			reply = "-LOADING Redis is loading the dataset in memory\r\n"
		case r.Cmd == "SET":
			reply = "-MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.\r\n"
		}
		_, err := c.Write([]byte(reply))
		return err
	})
	c, _ := connect(t, []string{node.Addr()}, Opts{})
	assert.Equal(t, "OK", redis.Sync{S: c}.Do("GET", "key"))
	assert.Equal(t, int32(3), asked.Load())
	err := redis.AsErrorx(redis.Sync{S: c}.Do("SET", "key", "v"))
	assert.ErrorContains(t, err, "MISCONF")
	assert.Equal(t, redis.OutcomeRefused, redis.OutcomeOf(err))
	sets := 0
	for _, r := range node.Requests() {
		if r.Cmd == "SET" {
			sets++
		}
	}
	assert.Equal(t, 1, sets)
}
