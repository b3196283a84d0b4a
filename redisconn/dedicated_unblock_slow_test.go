package redisconn_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/lab/virtualtime"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

// A server that has paused its clients answers UNBLOCKED and runs the command later. The result is
// the later reply, whatever it looks like, and the command does not run twice.
func TestDedicatedUnblockedDuringPause(t *testing.T) {
	s := testbed.NewServer(t)
	conn := connect(t, s.Addr(), quiet)
	client := redis.Sync{S: conn}
	require.Equal(t, int64(2), client.Do("RPUSH", "list", "over?", "next"))
	require.Equal(t, "OK", client.Do("CLIENT", "PAUSE", patience.Milliseconds(), "WRITE"))
	moved := sendTo(conn, "BLMOVE", "list", "other", "LEFT", "LEFT", 0)
	blocked(t, client, 1)
	unblocked := client.Do("CLIENT", "UNBLOCK", blockedID(t, client), "ERROR")
	require.Equal(t, "OK", client.Do("CLIENT", "UNPAUSE"))
	if unblocked == int64(0) { // Valkey 8.1
		t.Skip("the server does not unblock clients that it has paused")
	}
	require.Equal(t, []byte("over?"), moved.Wait(t))
	require.Equal(t, int64(1), client.Do("LLEN", "list"))
	require.Equal(t, []byte("next"), client.Do("BLMOVE", "list", "other", "LEFT", "LEFT", 0), "replies are in step")
}

// A paused command may be unblocked, block after the pause, and be unblocked once more. Then it has
// not run, and is sent again.
func TestDedicatedUnblockedDuringAndAfterPause(t *testing.T) {
	s := testbed.NewServer(t)
	conn := connect(t, s.Addr(), quiet)
	client := redis.Sync{S: conn}
	for i := range 5 {
		require.Equal(t, "OK", client.Do("CLIENT", "PAUSE", patience.Milliseconds(), "WRITE"))
		moved := sendTo(conn, "BLMOVE", "list", "other", "LEFT", "LEFT", 0)
		blocked(t, client, 1)
		id := blockedID(t, client)
		unblocked := client.Do("CLIENT", "UNBLOCK", id, "ERROR")
		require.Equal(t, "OK", client.Do("CLIENT", "UNPAUSE"))
		if unblocked == int64(0) { // Valkey 8.1
			t.Skip("the server does not unblock clients that it has paused")
		}
		blocked(t, client, 1)
		require.Equal(t, int64(1), client.Do("CLIENT", "UNBLOCK", id, "ERROR"))
		blocked(t, client, 1)
		require.Equal(t, int64(1), client.Do("RPUSH", "list", i))
		require.Equal(t, fmt.Appendf(nil, "%d", i), moved.Wait(t))
	}
}

// If the user may not call PING, the refusal of the PING shows that a command is over.
func TestDedicatedUnblockedWithoutPing(t *testing.T) {
	s := testbed.NewServer(t)
	admin := redis.Sync{S: connect(t, s.Addr(), quiet)}
	require.Equal(t, "OK", admin.Do("ACL", "SETUSER", "mute", "on", ">pw", "~*", "+@all", "-ping"))
	conn := connect(t, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}, Username: "mute", Password: "pw"})
	untilUnblocked(t, admin, func(ctx context.Context) any { return redis.SyncCtx{S: conn}.Do(ctx, "BLPOP", "list", 0) })
	require.Nil(t, redis.Sync{S: conn}.Do("BLPOP", "list", 0.01))
}

// blockingPipes is a server on which BLPOP blocks until it is unblocked. answer answers other
// commands.
func blockingPipes(answer func(args []string) string) *pipes {
	unblocked := make(chan struct{}, 1)
	return &pipes{Answer: func(args []string) string {
		switch strings.Join(args[:min(2, len(args))], " ") {
		case "BLPOP list":
			<-unblocked
			return "-UNBLOCKED client unblocked via CLIENT UNBLOCK\r\n"
		case "CLIENT ID":
			return ":7\r\n"
		case "INFO server":
			return bulk("# Server\r\nrun_id:1\r\n")
		case "CLIENT UNBLOCK":
			defer func() { unblocked <- struct{}{} }()
			if reply := answer(args); reply != "" {
				return reply
			}
			return ":1\r\n"
		}
		if args[0] == "PING" {
			return pong(args)
		}
		return answer(args)
	}}
}

// leaver is the future of a caller with a context.
type leaver struct {
	*outcome
	ctx context.Context
}

// Context is called by send.ContextOf.
func (l leaver) Context() context.Context { return l.ctx }

// A caller returns soon after the end of its context, even if a heartbeat took long. The time of a
// heartbeat does not show how far away the server is.
func TestDedicatedUnblockedAfterSlowHeartbeat(t *testing.T) {
	virtualtime.Run(t, func(t *testing.T) {
		p := blockingPipes(func(args []string) string {
			if args[0] == "CLIENT" {
				time.Sleep(time.Second) // too late to unblock
			}
			return "+OK\r\n"
		})
		quick := p.Answer
		p.Answer = func(args []string) string {
			if args[0] == "PING" && len(args) > 1 {
				time.Sleep(30 * time.Millisecond)
			}
			return quick(args)
		}
		conn, _ := connectPipes(t, p, redisconn.Opts{})
		time.Sleep(time.Second)
		require.GreaterOrEqual(t, conn.PingLatency(), 20*time.Millisecond)
		ctx, cancel := context.WithCancel(background)
		pop := leaver{newOutcome(), ctx}
		conn.Send(redis.Req("BLPOP", "list", 0), pop, 0)
		synctest.Wait()
		began := time.Now()
		cancel()
		requireUnknown(t, pop.Wait(t), redis.ErrRequestCancelled)
		require.LessOrEqual(t, time.Since(began), 50*time.Millisecond)
	})
}

// A caller returns soon after the end of its context, even if the server has stalled, so that
// heartbeats and the connection's own handshake took long.
func TestDedicatedUnblockedAfterStall(t *testing.T) {
	virtualtime.Run(t, func(t *testing.T) {
		var stall atomic.Int64
		p := blockingPipes(func([]string) string { return "+OK\r\n" })
		quick := p.Answer
		p.Answer = func(args []string) string {
			if args[0] == "BLPOP" {
				return "" // does not unblock
			}
			time.Sleep(time.Duration(stall.Load()))
			return quick(args)
		}
		conn, _ := connectPipes(t, p, redisconn.Opts{IOTimeout: time.Minute})
		cancelled := func() time.Duration {
			ctx, cancel := context.WithCancel(background)
			pop := leaver{newOutcome(), ctx}
			conn.Send(redis.Req("BLPOP", "list", 0), pop, 0)
			time.Sleep(10 * time.Second) // a slow handshake
			began := time.Now()
			cancel()
			requireUnknown(t, pop.Wait(t), redis.ErrRequestCancelled)
			return time.Since(began)
		}
		stall.Store(int64(500 * time.Millisecond))
		time.Sleep(2 * time.Minute)
		require.GreaterOrEqual(t, conn.PingLatency(), 100*time.Millisecond)
		require.LessOrEqual(t, cancelled(), 50*time.Millisecond)
	})
}

// If the server is far away, the client waits longer for an unblocked command, up to a limit.
func TestDedicatedUnblockedFarAway(t *testing.T) {
	virtualtime.Run(t, func(t *testing.T) {
		p := blockingPipes(func([]string) string { return "+OK\r\n" })
		quick := p.Answer
		p.Answer = func(args []string) string {
			if args[0] == "BLPOP" {
				return "" // does not unblock
			}
			time.Sleep(300 * time.Millisecond)
			return quick(args)
		}
		p.Greet = p.Answer
		conn, _ := connectPipes(t, p, redisconn.Opts{IOTimeout: time.Minute})
		ctx, cancel := context.WithCancel(background)
		pop := leaver{newOutcome(), ctx}
		conn.Send(redis.Req("BLPOP", "list", 0), pop, 0)
		time.Sleep(10 * time.Second) // a slow handshake
		began := time.Now()
		cancel()
		requireUnknown(t, pop.Wait(t), redis.ErrRequestCancelled)
		require.Greater(t, time.Since(began), 50*time.Millisecond)
		require.LessOrEqual(t, time.Since(began), 250*time.Millisecond)
	})
}

// CLIENT UNBLOCK waits for room while the queue is full.
func TestDedicatedUnblockedThroughFullQueue(t *testing.T) {
	virtualtime.Run(t, func(t *testing.T) {
		conn, _ := connectPipes(t, blockingPipes(func(args []string) string {
			if args[0] == "GET" {
				time.Sleep(10 * time.Millisecond)
				return "+fine\r\n"
			}
			return ""
		}), redisconn.Opts{IOTimeout: time.Minute, MaxRequests: 1})
		ctx, cancel := context.WithCancel(background)
		pop := leaver{newOutcome(), ctx} // not redis.SyncCtx: its pooled waiters must not leave the bubble
		conn.Send(redis.Req("BLPOP", "list", 0), pop, 0)
		synctest.Wait()
		get := sendTo(conn, "GET", "key")
		cancel()
		requireNotSent(t, pop.Wait(t), redis.ErrRequestWithdrawn)
		require.Equal(t, "fine", get.Wait(t))
	})
}
