package once

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redistest/chaos"
	"github.com/joomcode/redispipe/testbed"
)

// patience bounds waits for a server, and is the length of leases that must not expire. It is longer than any
// pause of a busy machine.
const patience = time.Minute

func runner(t *testing.T, addr string, lease time.Duration) *Runner {
	t.Helper()
	client, err := redispipe.Open(context.Background(), "redis://"+addr, redispipe.Logger(nil))
	require.NoError(t, err)
	t.Cleanup(client.Close)
	r, err := New(client, Opts{Lease: lease})
	require.NoError(t, err)
	return r
}

// answer is a function that counts its runs.
type answer struct{ runs, running atomic.Int32 }

func (a *answer) run(ctx context.Context) ([]byte, error) {
	defer a.running.Add(-1)
	if a.running.Add(1) > 1 {
		return nil, errors.New("two at once")
	}
	return fmt.Append(nil, a.runs.Add(1)), ctx.Err()
}

// If many callers of several processes use the same key, one function runs, and all get its result.
func TestOneRun(t *testing.T) {
	server := testbed.NewServer(t)
	var a answer
	var callers sync.WaitGroup
	for range 4 {
		r := runner(t, server.Addr(), patience)
		for range 8 {
			callers.Go(func() {
				result, err := r.Do(t.Context(), "a", time.Hour, a.run)
				if string(result) != "1" || err != nil {
					t.Error(string(result), err)
				}
			})
		}
	}
	callers.Wait()
	left, err := redis.As[int64](server.Do("PTTL", "once:a"))
	require.NoError(t, err)
	require.Positive(t, left)
}

// If a function fails or panics, or its caller leaves, the function of a waiting caller runs.
func TestFailures(t *testing.T) {
	server := testbed.NewServer(t)
	first, second := runner(t, server.Addr(), patience), runner(t, server.Addr(), patience)
	failed := errors.New("failed")
	for name, fails := range map[string]func(context.Context) ([]byte, error){
		"error":  func(context.Context) ([]byte, error) { return []byte("lost"), failed },
		"panic":  func(context.Context) ([]byte, error) { panic(failed) },
		"caller": func(ctx context.Context) ([]byte, error) { <-ctx.Done(); return nil, failed },
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			begun, ended := make(chan struct{}), make(chan error, 1)
			go func() {
				defer func() {
					if v := recover(); v != nil {
						ended <- v.(error)
					}
				}()
				_, err := first.Do(ctx, name, time.Hour, func(ctx context.Context) ([]byte, error) {
					close(begun)
					for subscribed := int64(0); subscribed == 0; {
						counts, err := redis.As[[]any](server.Do("PUBSUB NUMSUB", "once:"+name))
						if err != nil {
							return nil, err
						}
						subscribed = counts[1].(int64) // 1 when the second caller waits
					}
					if name == "caller" {
						cancel()
					}
					return fails(ctx)
				})
				ended <- err
			}()
			<-begun
			timed, stop := context.WithTimeout(t.Context(), patience/2)
			defer stop()
			result, err := second.Do(timed, name, time.Hour, func(context.Context) ([]byte, error) { return []byte("second"), nil })
			require.NoError(t, err)
			require.Equal(t, "second", string(result))
			require.ErrorIs(t, <-ended, failed)
		})
	}
}

// The connection is cut before or after each request of a call in turn. Each time the function runs once, and all
// callers get its result.
func TestCuts(t *testing.T) {
	server := testbed.NewServer(t)
	other := runner(t, server.Addr(), patience)
	isScript := func(request []byte) bool { return bytes.Contains(request, []byte("EVAL")) }
	for _, on := range []chaos.Direction{chaos.Requests, chaos.Replies} {
		for step := range 2 { // the request for the claim, and the one that stores the result
			name := fmt.Sprint(on, step)
			proxy := chaos.NewProxy(t, server.Addr(), chaos.ProxyOpts{})
			r := runner(t, proxy.Addr(), patience)
			_, err := r.Do(t.Context(), name+" before", time.Hour, func(context.Context) ([]byte, error) { return nil, nil })
			require.NoError(t, err) // now the server has the scripts, so EVALSHA succeeds at once

			var seen atomic.Int32
			armed := proxy.Arm(chaos.Fault{Do: chaos.Cut, On: on, At: chaos.AtRequest(func(request []byte) bool {
				return isScript(request) && seen.Add(1) == int32(step+1)
			})})
			var a answer
			result, err := r.Do(t.Context(), name, time.Hour, a.run)
			require.NoError(t, err, name)
			require.Equal(t, "1", string(result), name)
			require.Equal(t, 1, armed.Fired(), name)
			result, err = other.Do(t.Context(), name, time.Hour, a.run)
			require.NoError(t, err, name)
			require.Equal(t, "1", string(result), name)
		}
	}
}

// If a process is cut off from the server while its function runs, the function's context ends before another process
// takes over, and its result is not stored.
func TestTakeOver(t *testing.T) {
	server := testbed.NewServer(t)
	proxy := chaos.NewProxy(t, server.Addr(), chaos.ProxyOpts{})
	r, other := runner(t, proxy.Addr(), 300*time.Millisecond), runner(t, server.Addr(), patience)
	var lost context.Context
	result, err := r.Do(t.Context(), "a", time.Hour, func(ctx context.Context) ([]byte, error) {
		lost = ctx
		proxy.Refuse(true)
		proxy.Arm(chaos.Fault{Do: chaos.Cut, On: chaos.Requests, At: chaos.After(0)})
		taken, err := other.Do(t.Context(), "a", time.Hour, func(context.Context) ([]byte, error) {
			if lost.Err() == nil {
				t.Error("two live claims")
			}
			return []byte("taken"), nil
		})
		require.NoError(t, err)
		require.Equal(t, "taken", string(taken))
		proxy.Refuse(false)
		return []byte("mine"), nil
	})
	require.Equal(t, "mine", string(result))
	require.ErrorIs(t, err, ErrNotStored)
	require.Equal(t, ErrLost, context.Cause(lost))
	result, err = r.Do(t.Context(), "a", time.Hour, new(answer).run)
	require.NoError(t, err)
	require.Equal(t, "taken", string(result))
}

// If the first request to store a result is lost, and another process takes over before the second one, the caller
// learns that its result is not kept.
func TestTakeOverWhileItStores(t *testing.T) {
	server := testbed.NewServer(t)
	proxy := chaos.NewProxy(t, server.Addr(), chaos.ProxyOpts{})
	r := runner(t, proxy.Addr(), patience)
	result, err := r.Do(t.Context(), "a", time.Hour, func(context.Context) ([]byte, error) {
		server.Do("HSET", "once:a", "owner", "another")
		proxy.Arm(chaos.Fault{Do: chaos.Cut, On: chaos.Requests, At: chaos.AtRequest(func(request []byte) bool {
			return bytes.Contains(request, []byte("EVAL"))
		})})
		return []byte("mine"), nil
	})
	require.Equal(t, "mine", string(result))
	require.ErrorIs(t, err, ErrNotStored)
	require.ErrorIs(t, err, ErrLost)
}

func TestInvalidCalls(t *testing.T) {
	_, err := New(new(redispipe.Client), Opts{Lease: time.Millisecond})
	require.ErrorIs(t, err, ErrOpts)
	require.ErrorContains(t, err, "Lease is")
	for _, client := range []Client{nil, (*redispipe.Client)(nil), new(redispipe.Client)} {
		_, err = New(client, Opts{})
		require.ErrorIs(t, err, ErrOpts)
	}
	db, err := redispipe.Open(t.Context(), "redis://127.0.0.1:1", redispipe.Logger(nil))
	require.NoError(t, err)
	defer db.Close()
	r, err := New(db, Opts{})
	require.NoError(t, err)
	f := func(context.Context) ([]byte, error) { return nil, errors.New("it ran") }
	for _, tt := range []struct {
		key string
		ttl time.Duration
		f   func(context.Context) ([]byte, error)
	}{{"", time.Hour, f}, {"a", 0, f}, {"a", 367 * 24 * time.Hour, f}, {"a", time.Hour, nil}} {
		_, err = r.Do(t.Context(), tt.key, tt.ttl, tt.f)
		require.ErrorIs(t, err, ErrCall)
	}
}
