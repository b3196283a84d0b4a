package redisconn_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/joomcode/errorx"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/conntest"
	"github.com/joomcode/redispipe/internal/lab/virtualtime"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

var quiet = redisconn.Opts{Logger: redisconn.NoopLogger{}}

// blocked waits until n clients block on the server.
func blocked(t testing.TB, s redis.Sync, n int) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d clients block", n), func() bool {
		var info string
		require.NoError(t, s.DoInto(&info, "INFO", "clients"))
		return strings.Contains(info, fmt.Sprintf("blocked_clients:%d\r\n", n))
	})
}

// untilUnblocked calls pop, which blocks on s, and ends its context. It repeats this until a call
// was unblocked in time: on a busy machine some calls are not, and their outcome is unknown. It
// returns the last result and the number of calls.
func untilUnblocked(t testing.TB, s redis.Sync, pop func(context.Context) any) (err *errorx.Error, tries int) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan any, 1)
		go func() { done <- pop(ctx) }()
		blocked(t, s, 1)
		cancel()
		res := conntest.Await(t, "the end", done)
		blocked(t, s, 0)
		tries++
		if redis.OutcomeOf(res) != redis.OutcomeUnknown || time.Now().After(deadline) {
			return requireNotSent(t, res, redis.ErrRequestWithdrawn), tries
		}
	}
}

func TestBlockingEachWay(t *testing.T) {
	s := testbed.NewServer(t)
	conn := connect(t, s.Addr(), quiet)
	client := redis.Sync{S: conn}
	popped := []any{[]byte("list"), []byte("x")}
	for name, pop := range map[string]func() any{
		"Sync":    func() any { return client.Do("BLPOP", "list", 0) },
		"SyncCtx": func() any { return redis.SyncCtx{S: conn}.Do(t.Context(), "blpop", "list", 10) },
		"Chan":    func() any { return redis.ChanFutured{S: conn}.Send(redis.Req("BLPOP", "list", 0)).Value() },
		"Send":    func() any { return sendTo(conn, "BLPOP", "list", 0).Wait(t) },
	} {
		t.Run(name, func(t *testing.T) {
			done := make(chan any, 1)
			go func() { done <- pop() }()
			blocked(t, client, 1)
			require.Equal(t, "PONG", client.Do("PING"), "nobody waits for it")
			require.Equal(t, int64(1), client.Do("RPUSH", "list", "x"))
			require.Equal(t, popped, <-done)
		})
	}
	require.Nil(t, client.Do("BLPOP", "list", 0.01))
	require.Nil(t, client.Do("XREAD", "BLOCK", 10, "STREAMS", "s", "$"))

	done := make(chan string, 1)
	go func() {
		var moved string
		_ = client.DoInto(&moved, "BLMOVE", "list", "other", "LEFT", "LEFT", 0)
		done <- moved
	}()
	blocked(t, client, 1)
	require.Equal(t, int64(1), client.Do("RPUSH", "list", "typed"))
	require.Equal(t, "typed", <-done)
}

// A command may block for longer than IOTimeout.
func TestBlockingBeyondIOTimeout(t *testing.T) {
	virtualtime.Run(t, func(t *testing.T) {
		p := &pipes{Answer: func(args []string) string {
			if args[0] != "BLPOP" {
				return pong(args)
			}
			time.Sleep(10 * time.Second)
			return "*-1\r\n"
		}}
		conn, _ := connectPipes(t, p, redisconn.Opts{IOTimeout: time.Second})
		require.Nil(t, sendTo(conn, "BLPOP", "list", 10).Wait(t))
	})
}

func TestBlockingRefused(t *testing.T) {
	s := testbed.NewServer(t)
	conn := connect(t, s.Addr(), quiet)
	client := redis.Sync{S: conn}
	pop := redis.Req("BLPOP", "list", 1)
	for _, size := range []int{1, 2} {
		reqs := []redis.Request{pop, redis.Req("PING")}[:size]
		err := requireNotSent(t, client.SendMany(reqs)[0], redis.ErrCommandForbidden)
		require.Contains(t, err.Error(), "send it by itself")
		_, failed := client.SendTransaction(reqs)
		require.Equal(t, redis.OutcomeNotSent, redis.OutcomeOf(failed))
	}
	for _, timeout := range []any{"soon", -1, nil, "nan"} {
		err := requireNotSent(t, client.Do("BLPOP", "list", timeout), redis.ErrArgumentType)
		require.Contains(t, err.Error(), "timeout that is a number")
	}
	negative := connect(t, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}, DedicatedConns: -1})
	requireNotSent(t, redis.Sync{S: negative}.Send(pop), redis.ErrCommandForbidden)
}

// A command that the server or another client unblocks has not run.
func TestBlockingUnblockedByOthers(t *testing.T) {
	s := testbed.NewServer(t)
	conn := connect(t, s.Addr(), quiet)
	client := redis.Sync{S: conn}
	pop := sendTo(conn, "BLPOP", "list", 0)
	blocked(t, client, 1)
	for range 3 {
		id := blockedID(t, client)
		require.Equal(t, int64(1), client.Do("CLIENT", "UNBLOCK", id, "ERROR"))
		blocked(t, client, 1)
	}
	require.Equal(t, int64(1), client.Do("RPUSH", "list", "x"))
	require.Equal(t, []any{[]byte("list"), []byte("x")}, pop.Wait(t))
}

// Callers for which there is no connection wait in order, and stop waiting when their contexts end.
func TestBlockingBound(t *testing.T) {
	s := testbed.NewServer(t)
	conn := connect(t, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}, DedicatedConns: 1})
	client := redis.Sync{S: conn}
	first := sendTo(conn, "BLPOP", "list", 0)
	blocked(t, client, 1)
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan any, 1)
	go func() { gone <- redis.SyncCtx{S: conn}.Do(ctx, "BLPOP", "list", 0) }()
	eventually(t, "it waits", func() bool { return conn.Pending() == 2 })
	second := sendTo(conn, "BLPOP", "list", 0)
	cancel()
	delay, _ := redis.DelayOf(requireNotSent(t, <-gone, redis.ErrRequestWithdrawn))
	require.Positive(t, delay.Queue)
	require.Zero(t, delay.Wire)
	require.Equal(t, int64(2), client.Do("RPUSH", "list", "1", "2"))
	require.Equal(t, []any{[]byte("list"), []byte("1")}, first.Wait(t))
	require.Equal(t, []any{[]byte("list"), []byte("2")}, second.Wait(t))
	require.Equal(t, 2, clients(t, client))
}

func TestBlockingClose(t *testing.T) {
	s := testbed.NewServer(t)
	conn := connect(t, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}, DedicatedConns: 1})
	admin := redis.Sync{S: connect(t, s.Addr(), quiet)}
	blocks, waits := sendTo(conn, "BLPOP", "list", 0), sendTo(conn, "BLPOP", "list", 0)
	blocked(t, admin, 1)
	conn.Close()
	requireUnknown(t, blocks.Wait(t), redis.ErrIO)
	requireNotSent(t, waits.Wait(t), redis.ErrContextClosed)
	requireNotSent(t, sendTo(conn, "BLPOP", "list", 0).Wait(t), redis.ErrContextClosed)
}

// Shutdown unblocks blocking commands. No element is lost, and no outcome is unknown.
func TestBlockingShutdown(t *testing.T) {
	s := testbed.NewServer(t)
	conn := connect(t, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}, DedicatedConns: 1})
	admin := redis.Sync{S: connect(t, s.Addr(), quiet)}
	blocks, waits := sendTo(conn, "BLPOP", "list", 0), sendTo(conn, "BLPOP", "list", 0)
	blocked(t, admin, 1)
	require.NoError(t, conn.Shutdown(t.Context()))
	requireNotSent(t, blocks.Wait(t), redis.ErrContextClosed)
	requireNotSent(t, waits.Wait(t), redis.ErrContextClosed)
}

// If a blocking command's connection is lost, the outcome is unknown. The next command gets a new
// connection.
func TestBlockingConnectionLost(t *testing.T) {
	s := testbed.NewServer(t)
	conn := connect(t, s.Addr(), quiet)
	client := redis.Sync{S: conn}
	pop := sendTo(conn, "BLPOP", "list", 0)
	blocked(t, client, 1)
	require.Equal(t, int64(1), client.Do("CLIENT", "KILL", "ID", blockedID(t, client)))
	requireUnknown(t, pop.Wait(t), redis.ErrIO)
	require.Nil(t, client.Do("BLPOP", "list", 0.01))
	// A connection that is killed while it is idle is not used again.
	for _, line := range listed(t, client) {
		require.Equal(t, int64(1), client.Do("CLIENT", "KILL", "ID", idOf(line)))
	}
	require.Nil(t, client.Do("BLPOP", "list", 0.01))
}

// listed returns the entries of CLIENT LIST except the entry of s itself.
func listed(t testing.TB, s redis.Sync) (lines []string) {
	t.Helper()
	var list string
	self := fmt.Sprintf("id=%d ", s.Do("CLIENT", "ID"))
	require.NoError(t, s.DoInto(&list, "CLIENT", "LIST"))
	for _, line := range strings.Split(strings.TrimSpace(list), "\n") {
		if !strings.HasPrefix(line, self) {
			lines = append(lines, line)
		}
	}
	return lines
}

// clients counts the connections to the server.
func clients(t testing.TB, s redis.Sync) int { return len(listed(t, s)) + 1 }

func idOf(line string) string { return strings.TrimPrefix(strings.Fields(line)[0], "id=") }

// blockedID returns the ID of the client that blocks.
func blockedID(t testing.TB, s redis.Sync) (id string) {
	t.Helper()
	for _, line := range listed(t, s) {
		if strings.Contains(line, "flags=b") {
			id = idOf(line)
		}
	}
	require.NotEmpty(t, id)
	return id
}

// A blocking command runs in the goroutine of its waiting caller, and in no other.
func TestBlockingTakesNoGoroutine(t *testing.T) {
	s := testbed.NewServer(t)
	conn := connect(t, s.Addr(), quiet)
	client := redis.Sync{S: conn}
	const callers = 20
	before := runtime.NumGoroutine()
	var wg sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	for range callers {
		wg.Go(func() { redis.SyncCtx{S: conn}.Do(ctx, "BLPOP", "list", 0) })
	}
	blocked(t, client, callers)
	eventually(t, "those that have dialed end", func() bool { return runtime.NumGoroutine()-before < callers+callers/2 })
	cancel()
	wg.Wait()
}
