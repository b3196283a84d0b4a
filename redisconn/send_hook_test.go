package redisconn_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/conntest"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

// completions is a hook that keeps the results of operations.
type completions struct {
	mu   sync.Mutex
	ends []redis.Completion
	more chan struct{}
}

func (c *completions) Before(ctx context.Context, _ redis.Operation) context.Context { return ctx }

func (c *completions) After(_ context.Context, _ redis.Operation, end redis.Completion) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ends = append(c.ends, end)
	c.more <- struct{}{}
}

// A hook learns the server that answered, no matter how the request was sent.
func TestHookSeesAddress(t *testing.T) {
	s := testbed.NewServer(t)
	conn := connect(t, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
	hook := &completions{more: make(chan struct{}, 10)}
	hooked := redis.WithHook(conn, hook)
	reqs := []redis.Request{redis.Req("INCR", "n"), redis.Req("GET", "n")}
	script := redis.NewScript("return 1")
	for i, send := range []func(){
		func() { require.Equal(t, "PONG", redis.Sync{S: hooked}.Do("PING")) },
		func() { redis.Sync{S: hooked}.SendMany(reqs) },
		func() { _, _ = redis.Sync{S: hooked}.SendTransaction(reqs) },
		func() { redis.ChanFutured{S: hooked}.Send(reqs[0]).Value() },
		func() { redis.ChanFutured{S: hooked}.SendMany(reqs)[1].Value() },
		func() { redis.ChanFutured{S: hooked}.SendTransaction(reqs).Value() },
		func() { require.Error(t, redis.AsError(redis.Sync{S: hooked}.Do("GET"))) },
		func() { _, _ = redis.Sync{S: hooked}.Scanner(redis.ScanOpts{}).Next() },
		func() {
			s := redis.WithScripts(conn, script)
			redis.Sync{S: redis.WithHook(s, hook)}.Send(script.Request(nil, nil))
		},
	} {
		send()
		<-hook.more
		end := hook.ends[i]
		require.Equal(t, s.Addr(), end.Address, i)
		require.Equal(t, conn.RemoteAddr(), end.Peer, i)
	}
	require.Equal(t, redis.OutcomeRefused, hook.ends[6].Outcome)
}

// If there are several hooks, each learns the server.
func TestEachHookSeesAddress(t *testing.T) {
	conn := connect(t, testbed.NewServer(t).Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
	outer, inner := &completions{more: make(chan struct{}, 10)}, &completions{more: make(chan struct{}, 10)}
	hooked := redis.WithHook(redis.WithHook(conn, inner), outer)
	reqs := []redis.Request{redis.Req("INCR", "n"), redis.Req("GET", "n")}
	for i, send := range []func(){
		func() { redis.Sync{S: hooked}.SendMany(reqs) },
		func() { redis.ChanFutured{S: hooked}.Send(reqs[0]).Value() },
		func() { redis.ChanFutured{S: hooked}.SendMany(reqs)[1].Value() },
		func() { redis.ChanFutured{S: hooked}.SendTransaction(reqs).Value() },
	} {
		send()
		for _, hook := range []*completions{outer, inner} {
			<-hook.more
			require.Equal(t, conn.Addr(), hook.ends[i].Address, i)
			require.Equal(t, conn.RemoteAddr(), hook.ends[i].Peer, i)
		}
	}
}

// shown is a hook that keeps the operations that it is called with.
type shown struct{ seen chan string }

func (s shown) Before(ctx context.Context, _ redis.Operation) context.Context { return ctx }

func (s shown) After(_ context.Context, op redis.Operation, end redis.Completion) {
	s.seen <- fmt.Sprintf("%d %s %d: %v at %s", op.Kind, op.Command, op.Requests, end.Outcome, end.Peer)
}

// A hook is called around each call of a session, around Watch, and around a blocking command,
// whose outcome it gets.
func TestHookSeesDedicated(t *testing.T) {
	s := testbed.NewServer(t)
	hook := shown{make(chan string, 10)}
	hooked := redis.WithHook(connect(t, s.Addr(), quiet), hook)
	ctx, cancel := context.WithCancel(t.Context())
	session, err := redis.OpenSession(ctx, hooked, "")
	require.NoError(t, err)
	defer session.Close()
	errTest := errors.New("test")
	for _, c := range []struct {
		call func()
		want []string
	}{
		{func() { require.Equal(t, "OK", session.Do("set", "k", 1)) }, []string{"0 SET 1: value"}},
		{func() { var n int64; require.NoError(t, session.DoInto(&n, "GET", "k")) }, []string{"0 GET 1: value"}},
		{func() { session.SendMany(requests(redis.Req("GET", "k"), redis.Req("LPOP", "k"))) }, []string{"1  2: refused"}},
		{func() { _, _ = session.SendTransaction(requests(redis.Req("INCR", "k"))) }, []string{"2 INCR 1: value"}},
		{func() { session.Do("BLPOP", "list", 0.01) }, []string{"0 BLPOP 1: value"}},
		{func() { redis.Sync{S: hooked}.Do("BLPOP", "list", 0.01) }, []string{"0 BLPOP 1: value"}},
		{func() { _, _ = increment(ctx, hooked, "k") }, []string{"0 GET 1: value", "2 SET 1: value", "4 WATCH 0: value"}},
		{func() {
			_, err := redis.Watch(ctx, hooked, []string{"k"}, func(*redis.Tx) error { return errTest })
			require.ErrorIs(t, err, errTest)
		}, []string{"4 WATCH 0: not sent"}},
		{func() {
			require.Panics(t, func() {
				_, _ = redis.Watch(ctx, hooked, []string{"k"}, func(*redis.Tx) error { panic("on purpose") })
			})
		}, []string{"4 WATCH 0: not sent"}},
		{func() { cancel(); redis.SyncCtx{S: hooked}.Do(ctx, "BLPOP", "list", 0) }, []string{"0 BLPOP 1: not sent"}},
	} {
		c.call()
		for _, want := range c.want {
			got := conntest.Await(t, want, hook.seen)
			require.Contains(t, got, want)
			if !strings.HasSuffix(want, "not sent") || strings.Contains(want, "WATCH") {
				require.True(t, strings.HasSuffix(got, " at "+s.Addr()), got)
			}
		}
		require.Empty(t, hook.seen)
	}
	require.Equal(t, redis.OutcomeNotSent, redis.OutcomeOf(session.Do("PING")), "its context has ended")
	require.Contains(t, conntest.Await(t, "PING", hook.seen), "0 PING 1: not sent")
}

// If a blocking command is unblocked, the hook learns that the command did not run.
func TestHookSeesUnblocked(t *testing.T) {
	s := testbed.NewServer(t)
	conn := connect(t, s.Addr(), quiet)
	hook := shown{make(chan string, 10)}
	var seen string
	untilUnblocked(t, redis.Sync{S: conn}, func(ctx context.Context) any {
		res := redis.SyncCtx{S: redis.WithHook(conn, hook)}.Do(ctx, "BLPOP", "list", 0)
		seen = conntest.Await(t, "the end", hook.seen)
		return res
	})
	require.Equal(t, "0 BLPOP 1: not sent at "+s.Addr(), seen)
}
