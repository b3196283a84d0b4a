package rediscluster

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
)

func TestTransaction(t *testing.T) {
	tb := sharedCluster(t)
	c, _ := connect(t, tb.Addrs(), calm)
	s := redis.Sync{S: c}
	got, err := s.SendTransaction([]redis.Request{redis.Req("SET", "{t}a", 1), redis.Req("PING"), redis.Req("INCR", "{t}a")})
	require.NoError(t, err)
	assert.Equal(t, []any{"OK", "PONG", int64(2)}, got)

	got, err = s.SendTransaction([]redis.Request{redis.Req("PING")})
	require.NoError(t, err)
	assert.Equal(t, []any{"PONG"}, got)
	got, err = s.SendTransaction(nil)
	require.NoError(t, err)
	assert.Empty(t, got)

	got, err = s.SendTransaction([]redis.Request{redis.Req("INCR", "{t}a"), redis.Req("LPUSH", "{t}a", 1)})
	require.NoError(t, err)
	assert.Equal(t, int64(3), got[0])
	isType(t, redis.ErrResult, got[1])
}

func TestTransactionRefused(t *testing.T) {
	tb := sharedCluster(t)
	c, rec := connect(t, tb.Addrs(), calm)
	s := redis.Sync{S: c}
	for want, reqs := range map[interface{ String() string }][]redis.Request{
		redis.ErrNoSlotKey:   {redis.Req("SET", "a", 1), redis.Req("SET", "b", 2)},
		redis.ErrBatchFormat: {redis.Req("SET", "a", 1), redis.Req("SET", "a", struct{}{})},
		redis.ErrExecAbort:   {redis.Req("SET", "a", 1), redis.Req("SET", "a")},
	} {
		_, err := s.SendTransaction(reqs)
		isType(t, want, err)
	}
	_, err := s.SendTransaction([]redis.Request{redis.Req("FLUSHALL")})
	isType(t, redis.ErrNoSlotKey, err)
	_, err = s.SendTransaction([]redis.Request{redis.Req("MGET", "a", "b")})
	isType(t, redis.ErrNoSlotKey, err)
	assert.ErrorContains(t, err, "the transaction has keys of several slots")
	_, err = s.SendTransaction([]redis.Request{redis.Req("SET", "a", 1), redis.Req("SET", "b", struct{}{})})
	isType(t, redis.ErrBatchFormat, err)
	_, replies := rec.take()
	assert.Equal(t, 1, replies["EXECABORT"], "the others were not sent")
	bad := []redis.Request{redis.Req("SET", "a", 1), redis.Req("NOSUCH", "a")}
	_, err = s.SendTransaction(bad)
	assert.ErrorContains(t, err, "the request at index 1 was refused")
	assert.ErrorContains(t, err, "ERR unknown command")
	isType(t, redis.ErrExecAbort, err)
	req, _ := redis.AsErrorx(err).Property(redis.EKRequest)
	assert.Equal(t, bad[1], req)
	assert.Nil(t, s.Do("GET", "a"))
}

// TestTransactionRefusedForNow: a transaction that a server refuses for a temporary reason is sent
// again.
func TestTransactionRefusedForNow(t *testing.T) {
	for _, refusal := range []string{
		"MASTERDOWN Link with MASTER is down", "LOADING x", "READONLY x", "CLUSTERDOWN x", "TRYAGAIN x",
	} {
		t.Run(refusal, func(t *testing.T) {
			var tries atomic.Int64
			node := newScriptedNode(t, func(c *chaos.ScriptedConn, r chaos.ScriptedRequest) error {
				reply := map[string]string{"MULTI": "+OK\r\n", "SET": "+QUEUED\r\n", "EXEC": "*1\r\n+OK\r\n"}[r.Cmd]
				if r.Cmd == "MULTI" {
					tries.Add(1)
				}
				switch first := tries.Load() == 1; {
				case first && r.Cmd == "SET":
					reply = "-" + refusal + "\r\n"
				case first && r.Cmd == "EXEC":
					reply = "-EXECABORT Transaction discarded because of previous errors.\r\n"
				}
				_, err := c.Write([]byte(reply))
				return err
			})
			c, _ := connect(t, []string{node.Addr()}, calm)
			res, err := redis.Sync{S: c}.SendTransaction([]redis.Request{redis.Req("SET", "a", 1)})
			require.NoError(t, err)
			assert.Equal(t, []any{"OK"}, res)
			assert.Equal(t, int64(2), tries.Load())
		})
	}
}

// TestTransactionMultiRefused: if MULTI is refused, the requests run one by one, so they are not
// sent again, no matter what the answers to them and EXEC are.
func TestTransactionMultiRefused(t *testing.T) {
	for name, replies := range map[string]map[string]string{
		"EXEC without MULTI": {"EXEC": "-ERR EXEC without MULTI\r\n"},
		"aborted":            {"EXEC": "-EXECABORT x\r\n", "GET": "-TRYAGAIN x\r\n"},
		"redirected":         {"EXEC": "-EXECABORT x\r\n", "GET": "-MOVED 15495 127.0.0.1:1\r\n"},
		"transient":          {"EXEC": "-CLUSTERDOWN x\r\n", "GET": "-CLUSTERDOWN x\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var ran atomic.Int64
			node := newScriptedNode(t, func(c *chaos.ScriptedConn, r chaos.ScriptedRequest) error {
				reply := replies[r.Cmd]
				switch {
				case r.Cmd == "MULTI":
					reply = "-NOPERM no multi\r\n"
				case r.Cmd == "INCR":
					reply = fmt.Sprintf(":%d\r\n", ran.Add(1))
				case reply == "":
					reply = "+OK\r\n"
				}
				_, err := c.Write([]byte(reply))
				return err
			})
			c, _ := connect(t, []string{node.Addr()}, calm)
			reqs := []redis.Request{redis.Req("INCR", "a"), redis.Req("GET", "a")}
			_, err := redis.Sync{S: c}.SendTransaction(reqs)
			isType(t, redis.ErrTransaction, err)
			assert.Equal(t, redis.OutcomeUnknown, redis.OutcomeOf(err))
			_, named := redis.AsErrorx(err).Property(redis.EKRequests)
			assert.True(t, named)
			assert.Equal(t, int64(1), ran.Load())
			err = redis.WithSession(context.Background(), c, "a", func(s *redis.Session) error {
				_, err := s.SendTransaction(reqs)
				return err
			})
			isType(t, redis.ErrTransaction, err)
			assert.Equal(t, int64(2), ran.Load())
		})
	}
}

// TestTransactionOfNewKeys: during a migration, a transaction with new keys waits until the migration is
// over, because no node serves such a transaction before that.
func TestTransactionOfNewKeys(t *testing.T) {
	tb := sharedMasters.of(t)
	c, rec := connect(t, tb.Addrs(), Opts{CheckInterval: time.Minute, WaitToMigrate: time.Millisecond})
	slot, from := owner(t, tb, "{n}")
	m, err := tb.BeginMigration(slot, another(t, tb, from))
	require.NoError(t, err)
	s := redis.Sync{S: c}
	reqs := []redis.Request{redis.Req("INCR", "{n}a"), redis.Req("INCR", "{n}b")}
	_, err = s.SendTransaction(reqs)
	isType(t, redis.ErrTryAgain, err)
	_, replies := rec.take()
	assert.Positive(t, replies["ASK"])
	require.NoError(t, m.Finish())
	got, err := s.SendTransaction(reqs)
	require.NoError(t, err)
	assert.Equal(t, []any{int64(1), int64(1)}, got)
}

// TestTransactionWaitsForMigration tests the other states during a migration.
func TestTransactionWaitsForMigration(t *testing.T) {
	tb := sharedMasters.of(t)
	c, rec := connect(t, tb.Addrs(), stubborn)
	s := redis.SyncCtx{S: c}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for _, key := range []string{"{w}a", "{w}b"} {
		require.Equal(t, "OK", s.Do(ctx, "SET", key, 1))
	}
	slot, from := owner(t, tb, "{w}")
	m, err := tb.BeginMigration(slot, another(t, tb, from))
	require.NoError(t, err)
	reqs := []redis.Request{redis.Req("INCR", "{w}a"), redis.Req("INCR", "{w}b")}

	got, err := s.SendTransaction(ctx, reqs)
	require.NoError(t, err, "all keys here")
	require.Equal(t, []any{int64(2), int64(2)}, got)

	require.NoError(t, m.MoveKeys("{w}a"))
	type outcome struct {
		got []any
		err error
	}
	done := make(chan outcome, 1)
	go func() {
		got, err := s.SendTransaction(ctx, reqs)
		done <- outcome{got, err}
	}()
	await(t, "TRYAGAIN", func() bool {
		rec.mu.Lock()
		defer rec.mu.Unlock()
		return rec.replies["TRYAGAIN"] > 0
	})
	require.NoError(t, m.MoveAll())
	out := <-done
	require.NoError(t, out.err, "half of the keys here")
	assert.Equal(t, []any{int64(3), int64(3)}, out.got)

	got, err = s.SendTransaction(ctx, reqs)
	require.NoError(t, err, "all keys there")
	assert.Equal(t, []any{int64(4), int64(4)}, got)
	rec.take()
	require.NoError(t, m.Finish())
	got, err = s.SendTransaction(ctx, reqs)
	require.NoError(t, err, "the slot has moved")
	assert.Equal(t, []any{int64(5), int64(5)}, got)
	_, replies := rec.take()
	assert.Positive(t, replies["MOVED"])
	awaitOwner(t, c, slot, m.To())
}

// The caller may reuse its requests when SendTransaction returns.
func TestTransactionIsCopied(t *testing.T) {
	tb := sharedCluster(t)
	c, _ := connect(t, tb.Addrs(), calm)
	slot, from := owner(t, tb, "{c}")
	m, err := tb.BeginMigration(slot, another(t, tb, from))
	require.NoError(t, err)
	defer func() { require.NoError(t, m.Abort()) }()
	require.Equal(t, "OK", redis.Sync{S: c}.Do("SET", "{c}a", "old"))
	val := []byte("right")
	reqs := []redis.Request{redis.Req("SET", "{c}a", val), redis.Req("GET", "{c}a")}
	done := make(chan any, 1)
	c.SendTransaction(reqs, redis.FuncFuture(func(res any, _ uint64) { done <- res }), 0)
	copy(val, "wrong")
	reqs[1] = redis.Req("FLUSHALL")
	select {
	case res := <-done:
		assert.Equal(t, []any{"OK", []byte("right")}, res)
	case <-time.After(patience):
		t.Fatal("lost")
	}
}

// TestTransactionWithoutRequests: an empty transaction returns at once.
func TestTransactionWithoutRequests(t *testing.T) {
	node := newScriptedNode(t, chaos.ScriptedReplies("+OK\r\n"))
	c, _ := connect(t, []string{node.Addr()}, calm)
	senders := map[string]redis.Sender{"cluster": c, "policy": c.WithPolicy(PreferSlaves)}
	c.EachShard(func(s redis.Sender, _ error) bool {
		senders["connection"] = s
		return true
	})
	for name, s := range senders {
		var got []any
		cb := redis.FuncFuture(func(res any, n uint64) { got = append(got, res, n) })
		s.SendTransaction(nil, cb, 7)
		assert.Equal(t, []any{[]any{}, uint64(7)}, got, name)
		s.SendTransaction(nil, nil, 0)

		gone := &lateFuture{}
		gone.cancelled.Store(true)
		s.SendTransaction([]redis.Request{}, gone, 0)
		assert.Equal(t, context.Canceled, gone.res, name)
	}
	for _, r := range node.Requests() {
		assert.NotContains(t, []string{"MULTI", "EXEC"}, r.Cmd)
	}
}

// lateFuture is a future that may be cancelled at any time.
type lateFuture struct {
	cancelled atomic.Bool
	res       any
	resolved  chan struct{} // closed when the future is resolved; may be nil
}

func (f *lateFuture) Resolve(res any, _ uint64) {
	f.res = res
	if f.resolved != nil {
		close(f.resolved)
	}
}

func (f *lateFuture) Cancelled() error {
	if f.cancelled.Load() {
		return context.Canceled
	}
	return nil
}

// TestCancelledWhileQueued: a request whose future is cancelled before it is
// written is not sent.
func TestCancelledWhileQueued(t *testing.T) {
	node := newScriptedNode(t, func(c *chaos.ScriptedConn, r chaos.ScriptedRequest) error {
		if r.Cmd == "SET" {
			c.Reset()
			return nil
		}
		_, err := c.Write([]byte("+OK\r\n"))
		return err
	})
	var shut atomic.Bool
	open := make(chan struct{})
	c, _ := connect(t, []string{node.Addr()}, Opts{ConnsPerHost: 1, HostOpts: redisconn.Opts{
		IOTimeout: time.Minute,
		Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
			if shut.Load() {
				<-open
			}
			var d net.Dialer
			return d.DialContext(ctx, network, addr)
		},
	}})
	l := c.topology.Load().Shards[0].Master.Links[0]
	await(t, "connection", l.Conn.ConnectedNow)
	shut.Store(true)
	isType(t, redis.ErrIO, redis.Sync{S: c}.Do("SET", "key", 1))
	await(t, "dialing", func() bool { return l.Connecting() })
	futures := make([]*lateFuture, 3)
	for i := range futures {
		futures[i] = &lateFuture{resolved: make(chan struct{})}
	}
	c.Send(redis.Req("ECHO", "queued"), futures[0], 0)
	c.Send(redis.Req("GET", "queued"), futures[1], 0)
	c.Send(redis.Req("GET", "kept"), futures[2], 0)
	await(t, "queue", func() bool { return c.accepted.Load() == 3 })
	futures[0].cancelled.Store(true)
	futures[1].cancelled.Store(true)
	close(open)
	for i, f := range futures {
		<-f.resolved
		if i < 2 {
			isType(t, redis.ErrRequestWithdrawn, f.res)
		}
	}
	assert.Equal(t, "OK", futures[2].res)
	for _, r := range node.Requests() {
		assert.NotContains(t, r.Args, "queued")
	}
}

// Valkey 9.1 does not check the slot of MSETEX: a master that no longer has the slot answers as if it had
// set the keys. In a transaction with a command whose slot is checked, MSETEX sets nothing, and the cluster
// sends both to the new master.
func TestMSetExBesideACheckedCommand(t *testing.T) {
	tb := sharedCluster(t)
	c, _ := connect(t, tb.Addrs(), calm)
	const key = "{msetex}key"
	if redis.AsError(redis.Sync{S: c}.Do("MSETEX", 1, key, "first")) != nil {
		t.Skip("the server lacks MSETEX")
	}
	slot, from := owner(t, tb, key)
	to := another(t, tb, from)
	require.NoError(t, tb.MoveSlot(slot, to))
	reqs := []redis.Request{redis.Req("EXISTS", key), redis.Req("MSETEX", 1, key, "second", "EX", time.Hour)}
	old, err := redisconn.Connect(t.Context(), from.Addr(), redisconn.Opts{IOTimeout: time.Minute, Logger: redisconn.NoopLogger{}})
	require.NoError(t, err)
	defer old.Close()
	_, err = redis.Sync{S: old}.Transact(reqs)
	require.ErrorContains(t, err, "MOVED")
	require.Equal(t, []byte("first"), to.Do("GET", key))
	results, err := redis.Sync{S: c}.Transact(reqs)
	require.NoError(t, err)
	require.Equal(t, []any{int64(1), int64(1)}, results)
	require.Equal(t, []byte("second"), to.Do("GET", key))
}
