package redisconn_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/lab/drill"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redistest/chaos"
	"github.com/joomcode/redispipe/testbed"
)

// increment increments a key in a Watch, by reading and setting it.
func increment(ctx context.Context, s redis.Sender, key string) ([]any, error) {
	return redis.Watch(ctx, s, []string{key}, func(tx *redis.Tx) error {
		var n int64
		if err := tx.DoInto(&n, "GET", key); err != nil && !redis.AsErrorx(err).IsOfType(redis.ErrResponseNil) {
			return err
		}
		tx.Queue("SET", key, n+1)
		return nil
	})
}

func TestWatch(t *testing.T) {
	t.Parallel()
	s := testbed.NewServer(t)
	conn := connect(t, s.Addr(), quiet)
	client := redis.Sync{S: conn}
	results, err := increment(t.Context(), conn, "n")
	require.NoError(t, err)
	require.Equal(t, []any{"OK"}, results)
	require.Equal(t, []byte("1"), client.Do("GET", "n"))

	calls := 0
	_, err = redis.Watch(t.Context(), conn, []string{"n"}, func(tx *redis.Tx) error {
		if calls++; calls < 3 {
			require.NoError(t, redis.AsError(client.Do("INCR", "n")))
		}
		tx.Queue("SET", "n", "set")
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, 3, calls)
	require.Equal(t, []byte("set"), client.Do("GET", "n"))

	calls = 0
	_, err = redis.Watch(t.Context(), conn, []string{"n"}, func(tx *redis.Tx) error {
		calls++
		require.NoError(t, redis.AsError(client.Do("SET", "n", calls)))
		tx.Queue("SET", "n", "never")
		return nil
	})
	require.Contains(t, requireType(t, err, redis.ErrExecEmpty).Error(), "in each of 128 attempts")
	require.Equal(t, 128, calls)

	calls = 0
	for most := 1; most < 4; most++ {
		_, err = redis.WatchAtMost(t.Context(), most, conn, []string{"n"}, func(tx *redis.Tx) error {
			calls++
			require.NoError(t, redis.AsError(client.Do("SET", "n", 128)))
			tx.Queue("SET", "n", "never")
			return nil
		})
		requireType(t, err, redis.ErrExecEmpty)
	}
	require.Equal(t, 1+2+3, calls)
	_, err = redis.WatchAtMost(t.Context(), 0, conn, []string{"n"}, nil)
	requireNotSent(t, err, redis.ErrSession)

	errTest := errors.New("test")
	_, err = redis.Watch(t.Context(), conn, []string{"n"}, func(tx *redis.Tx) error {
		tx.Queue("SET", "n", "never")
		return errTest
	})
	require.ErrorIs(t, err, errTest)
	require.Equal(t, []byte("128"), client.Do("GET", "n"))
	_, err = redis.Watch(t.Context(), conn, nil, func(*redis.Tx) error { return nil })
	requireNotSent(t, err, redis.ErrNoSlotKey)
	ctx, cancel := context.WithCancel(t.Context())
	_, err = redis.Watch(ctx, conn, []string{"n"}, func(tx *redis.Tx) error {
		cancel()
		return redis.AsError(tx.Do("GET", "n"))
	})
	requireNotSent(t, err, redis.ErrRequestWithdrawn)
}

// If the connection is lost before EXEC was sent, Watch calls its function again.
func TestWatchConnectionLost(t *testing.T) {
	s := testbed.NewServer(t)
	conn := connect(t, s.Addr(), quiet)
	client := redis.Sync{S: conn}
	calls := 0
	_, err := redis.Watch(t.Context(), conn, []string{"n"}, func(tx *redis.Tx) error {
		if calls++; calls == 1 {
			id := tx.Do("CLIENT", "ID")
			require.Equal(t, int64(1), client.Do("CLIENT", "KILL", "ID", id))
		}
		res := tx.Do("GET", "n")
		tx.Queue("INCR", "n")
		return redis.AsError(res)
	})
	require.NoError(t, err)
	require.Equal(t, 2, calls)
	require.Equal(t, []byte("1"), client.Do("GET", "n"))
}

// If EXEC was sent but not answered, the outcome is unknown, and Watch does not try again.
func TestWatchUnanswered(t *testing.T) {
	calls := 0
	s := chaos.NewScripted(t, chaos.ScriptedOpts{Handler: func(c *chaos.ScriptedConn, r chaos.ScriptedRequest) error {
		switch r.Cmd {
		case "EXEC":
			c.Close()
			return nil
		case "INCR", "MULTI":
			_, err := c.Write([]byte("+QUEUED\r\n"))
			return err
		}
		_, err := c.Write([]byte("+OK\r\n"))
		return err
	}})
	conn := connect(t, s.Addr(), quiet)
	_, err := redis.Watch(t.Context(), conn, []string{"n"}, func(tx *redis.Tx) error {
		calls++
		tx.Queue("INCR", "n")
		return nil
	})
	requireUnknown(t, err, redis.ErrIO)
	require.Equal(t, 1, calls)
}

func TestWatchContention(t *testing.T) {
	drill.Rotate(t)
	s := testbed.NewServer(t)
	conn := connect(t, s.Addr(), quiet)
	const workers, rounds = 64, 20
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for range rounds {
				if _, err := increment(context.Background(), conn, "n"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	var n int64
	require.NoError(t, redis.Sync{S: conn}.DoInto(&n, "GET", "n"))
	require.Equal(t, int64(workers*rounds), n)
}

// If a command of the transaction fails, Watch returns its error and the results of all commands,
// which have run.
func TestWatchOfACommandThatFails(t *testing.T) {
	conn := connect(t, testbed.NewServer(t).Addr(), quiet)
	db := redis.Sync{S: conn}
	calls := 0
	results, err := redis.Watch(t.Context(), conn, []string{"n"}, func(tx *redis.Tx) error {
		calls++
		tx.Queue("SET", "n", "text")
		tx.Queue("INCR", "n")
		tx.Queue("APPEND", "n", "!")
		return nil
	})
	var failed *redis.ResultError
	require.ErrorAs(t, err, &failed)
	require.Equal(t, 1, failed.Index)
	require.ErrorIs(t, err, redis.ErrRefused)
	require.Equal(t, 1, calls)
	require.Len(t, results, 3)
	require.Equal(t, []byte("text!"), db.Do("GET", "n"))

	require.NoError(t, redis.WithSession(t.Context(), conn, "", func(s *redis.Session) error {
		_, err := s.Transact([]redis.Request{redis.Req("GET", "n"), redis.Req("INCR", "n")})
		require.ErrorAs(t, err, &failed)
		require.Equal(t, 1, failed.Index)
		return nil
	}))
}

// Watch returns the error of its function unchanged.
func TestWatchReturnsTheErrorOfItsFunction(t *testing.T) {
	conn := connect(t, testbed.NewServer(t).Addr(), quiet)
	own := redis.ErrQueueFull.New("the user's")
	_, err := redis.Watch(t.Context(), conn, []string{"n"}, func(*redis.Tx) error { return own })
	require.Same(t, own, err)
}

// If the context ends within an attempt, before EXEC was sent, the error says which attempt that
// was.
func TestWatchContextEndsWithinAttempt(t *testing.T) {
	s := testbed.NewServer(t)
	conn := connect(t, s.Addr(), quiet)
	for name, end := range map[string]func(*redis.Tx) error{
		"before EXEC": func(tx *redis.Tx) error { tx.Queue("INCR", "other"); return nil },
		"in a read":   func(tx *redis.Tx) error { return redis.AsError(tx.Do("GET", "a")) },
	} {
		ctx, cancel := context.WithCancel(background)
		attempts := 0
		_, err := redis.Watch(ctx, conn, []string{"a"}, func(tx *redis.Tx) error {
			if attempts++; attempts == 1 {
				tx.Queue("INCR", "other")
				return redis.AsError(s.Do("INCR", "a"))
			}
			cancel()
			return end(tx)
		})
		cancel()
		require.ErrorIs(t, err, context.Canceled, name)
		require.ErrorIs(t, err, redis.ErrNotSent, name)
		require.Equal(t, 2, attempts, name)
		require.ErrorContains(t, err, "attempt 2", name)
		require.Nil(t, s.Do("GET", "other"), name)
	}
}

// Watch refuses a command that would undo its transaction, and sends nothing.
func TestWatchRefusesWhatUndoesIt(t *testing.T) {
	t.Parallel()
	conn := connect(t, testbed.NewServer(t).Addr(), quiet)
	client := redis.Sync{S: conn}
	for _, undo := range [][]any{{"MULTI"}, {"multi"}, {"EXEC"}, {"DISCARD"}, {"UNWATCH"}, {"SELECT", 1}, {"AUTH", "secret"}} {
		for way, send := range map[string]func(*redis.Tx) error{
			"Do":     func(tx *redis.Tx) error { return redis.Err(tx.Do(undo[0].(string), undo[1:]...)) },
			"DoInto": func(tx *redis.Tx) error { return tx.DoInto(new(any), undo[0].(string), undo[1:]...) },
		} {
			for _, ignored := range []bool{true, false} {
				results, err := redis.Watch(t.Context(), conn, []string{"n"}, func(tx *redis.Tx) error {
					err := send(tx)
					requireType(t, err, redis.ErrCommandForbidden)
					tx.Queue("SET", "n", "never")
					if ignored {
						return nil
					}
					return err
				})
				requireType(t, err, redis.ErrCommandForbidden)
				require.Equal(t, redis.OutcomeNotSent, redis.OutcomeOf(err), "%v %s", undo, way)
				require.False(t, redis.SafeToRetry(err))
				require.NotContains(t, err.Error(), "secret")
				require.Nil(t, results)
				require.Nil(t, client.Do("GET", "n"))
			}
		}
	}
	results, err := redis.Watch(t.Context(), conn, []string{"n"}, func(tx *redis.Tx) error {
		require.Equal(t, "OK", tx.Do("WATCH", "other"))
		tx.Queue("SET", "n", "1")
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, []any{"OK"}, results)
}

// While a session has a MULTI of its own open, it can't send another transaction.
func TestTransactionWithinMulti(t *testing.T) {
	t.Parallel()
	conn := connect(t, testbed.NewServer(t).Addr(), quiet)
	require.NoError(t, redis.WithSession(t.Context(), conn, "", func(s *redis.Session) error {
		for _, end := range []string{"EXEC", "DISCARD"} {
			require.Equal(t, "OK", s.Do("MULTI"))
			require.Error(t, redis.Err(s.Do("MULTI")), "the server's answer")
			_, err := s.Transact([]redis.Request{redis.Req("SET", "n", "never")})
			requireType(t, err, redis.ErrSession)
			require.Equal(t, redis.OutcomeNotSent, redis.OutcomeOf(err))
			require.Equal(t, "QUEUED", s.Do("SET", end, "1"))
			s.Do(end)
			results, err := s.Transact([]redis.Request{redis.Req("GET", "n"), redis.Req("DEL", "EXEC")})
			require.NoError(t, err)
			require.Nil(t, results[0])
			require.Equal(t, int64(map[string]int{"EXEC": 1}[end]), results[1])
		}
		return nil
	}))
}
