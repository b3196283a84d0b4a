package redisconn_test

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

// When a context ends, its command is unblocked, and the connection of the command is used again.
func TestBlockingCancelled(t *testing.T) {
	s := testbed.NewServer(t)
	conn := connect(t, s.Addr(), quiet)
	client := redis.Sync{S: conn}
	late := 0
	for range 20 {
		err, tries := untilUnblocked(t, client, func(ctx context.Context) any { return redis.SyncCtx{S: conn}.Do(ctx, "BLPOP", "list", 0) })
		require.True(t, redis.CausedBy(err, context.Canceled))
		delay, _ := redis.DelayOf(err)
		require.Positive(t, delay.Wire)
		late += tries - 1
	}
	blocked(t, client, 0)
	require.EqualValues(t, 1+late, conn.Stats().Dedicated.Connects, "one dedicated connection served all that were unblocked")
	eventually(t, "no other is open", func() bool { return clients(t, client) == 2 })
}

// If the ACL user may not call CLIENT UNBLOCK, the connection is closed when the context ends, and
// the command's outcome is unknown.
func TestBlockingCancelledWithoutPermission(t *testing.T) {
	testbed.Needs(t, testbed.Version(7, 0)) // older versions have no permissions for subcommands
	s := testbed.NewServer(t)
	admin := redis.Sync{S: connect(t, s.Addr(), quiet)}
	for user, want := range map[string]string{"noid": "-client|id", "nounblock": "-client|unblock"} {
		require.Equal(t, "OK", admin.Do("ACL", "SETUSER", user, "on", ">pw", "~*", "+@all", want))
		conn := connect(t, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}, Username: user, Password: "pw"})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan any, 1)
		go func() { done <- redis.SyncCtx{S: conn}.Do(ctx, "BLPOP", "list", 0) }()
		blocked(t, admin, 1)
		cancel()
		err := requireUnknown(t, <-done, redis.ErrRequestCancelled)
		require.True(t, redis.CausedBy(err, context.Canceled))
		blocked(t, admin, 0)
	}
}

func TestBlockingCancelRaces(t *testing.T) {
	if testing.Short() {
		t.Skip("1,600 cancels take seconds")
	}
	s := testbed.NewServer(t)
	conn := connect(t, s.Addr(), quiet)
	client := redis.Sync{S: conn}
	const workers, rounds = 8, 200
	var delivered, pushed, unknown int
	var mu sync.Mutex
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := range rounds {
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration((w*31+i*17)%900)*time.Microsecond)
				res := redis.SyncCtx{S: conn}.Do(ctx, "BLPOP", "list", 0)
				cancel()
				mu.Lock()
				switch {
				case redis.AsError(res) == nil:
					delivered++
				case redis.OutcomeOf(res) == redis.OutcomeUnknown: // a busy server unblocks late
					unknown++
				case redis.OutcomeOf(res) != redis.OutcomeNotSent:
					t.Errorf("%v", res)
				}
				mu.Unlock()
			}
		})
		wg.Go(func() {
			for range rounds / 2 {
				if err := redis.AsError(client.Do("RPUSH", "list", "x")); err != nil {
					t.Error(err)
				}
				mu.Lock()
				pushed++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	var left int64
	require.NoError(t, client.DoInto(&left, "LLEN", "list"))
	require.LessOrEqual(t, delivered+int(left), pushed)
	require.GreaterOrEqual(t, delivered+int(left)+unknown, pushed)
	require.Less(t, unknown, workers*rounds)
}

// rude is a future whose Cancelled method calls end, which does not return, except the first time.
type rude struct {
	*outcome
	asked atomic.Bool
	end   func()
}

func (r *rude) Cancelled() error {
	if r.asked.Swap(true) {
		r.end()
	}
	return nil
}

// If a future's Cancelled method panics or ends its goroutine, the future counts as not cancelled.
func TestBlockingCancelledNeedNotReturn(t *testing.T) {
	for way, end := range map[string]func(){"panic": func() { panic("on purpose") }, "exit": runtime.Goexit} {
		t.Run(way, func(t *testing.T) {
			s := testbed.NewServer(t)
			conn := connect(t, s.Addr(), quiet)
			pop := &rude{outcome: newOutcome(), end: end}
			conn.Send(redis.Req("BLPOP", "list", 0.01), pop, 0)
			require.Nil(t, pop.Wait(t))
			require.Zero(t, conn.Pending())
		})
	}
}

// A blocking command ends with its caller's context even if a decorator passes the future on.
func TestBlockingCancelledThroughDecorator(t *testing.T) {
	s := testbed.NewServer(t)
	conn := connect(t, s.Addr(), quiet)
	client := redis.Sync{S: conn}
	for name, sender := range map[string]redis.Sender{
		"embedded": struct{ redis.Sender }{conn},
		"scripts":  redis.WithScripts(conn),
		"hooked":   struct{ redis.Sender }{redis.WithHook(conn, shown{make(chan string, 10)})},
	} {
		t.Run(name, func(t *testing.T) {
			untilUnblocked(t, client, func(ctx context.Context) any { return redis.SyncCtx{S: sender}.Do(ctx, "BLPOP", "list", 0) })
		})
	}
}
