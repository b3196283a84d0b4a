package lock

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redistest/chaos"
	"github.com/joomcode/redispipe/testbed"
)

// fairLocker returns a fair locker with its own client.
func fairLocker(t *testing.T, addr string, ttl time.Duration) *Locker {
	t.Helper()
	l, err := New(open(t, addr), Opts{TTL: ttl, Fair: true})
	require.NoError(t, err)
	return l
}

// line is the line of those who wait for the lock of key "a" of a server.
type line struct {
	server  *testbed.Server
	callers sync.WaitGroup
	got     chan int // the numbers of the callers that got the lock, in order
}

func newLine(t *testing.T) *line {
	return &line{server: testbed.NewServer(t), got: make(chan int, 100)}
}

// await waits until n callers are in the queue.
func (l *line) await(t *testing.T, n int) {
	t.Helper()
	require.Eventually(t, func() bool {
		fields, err := redis.As[[]string](l.server.Do("HKEYS", "lock:a"))
		places := 0
		for _, field := range fields {
			if strings.HasPrefix(field, "ends:") {
				places++
			}
		}
		return err == nil && places == n
	}, patience, time.Millisecond)
}

// lock makes a caller wait for the lock, write its number, and unlock.
func (l *line) lock(t *testing.T, ctx context.Context, by *Locker, number int) {
	l.callers.Go(func() {
		held, err := by.Lock(ctx, "a")
		if err != nil {
			if ctx.Err() == nil {
				t.Error(number, err)
			}
			return
		}
		l.got <- number
		if err := held.Unlock(context.WithoutCancel(ctx)); err != nil {
			t.Error(number, err)
		}
	})
}

// order waits until all callers have returned. It returns the numbers of those who got the lock, in order.
func (l *line) order() (numbers []int) {
	l.callers.Wait()
	close(l.got)
	for number := range l.got {
		numbers = append(numbers, number)
	}
	return numbers
}

// Callers of several processes get the lock in the order in which they came, without those who leave. Nobody polls:
// with this TTL, no caller asks a second time during the test.
func TestFairOrder(t *testing.T) {
	l := newLine(t)
	lockers := []*Locker{fairLocker(t, l.server.Addr(), time.Hour), fairLocker(t, l.server.Addr(), time.Hour), fairLocker(t, l.server.Addr(), time.Hour)}
	held, err := lockers[0].Lock(t.Context(), "a")
	require.NoError(t, err)
	leaving, leave := context.WithCancel(t.Context())
	var want []int
	for i := range 18 {
		ctx := t.Context()
		if i == 0 || i == 7 || i == 8 || i == 17 {
			ctx = leaving
		} else {
			want = append(want, i)
		}
		l.lock(t, ctx, lockers[i/2%3], i)
		l.await(t, i+1)
	}
	leave()
	l.await(t, len(want)) // they leave at once, while the lock is held
	_, err = lockers[1].TryLock(t.Context(), "a")
	require.ErrorIs(t, err, ErrHeld)
	require.NoError(t, held.Unlock(t.Context()))
	require.Equal(t, want, l.order())
}

// Callers that wait in the queue go before those who are not fair, and TryLock does not overtake them.
func TestFairAndNotFair(t *testing.T) {
	l := newLine(t)
	fair, other := fairLocker(t, l.server.Addr(), 3*time.Second), locker(t, l.server.Addr(), 3*time.Second)
	held, err := other.Lock(t.Context(), "a")
	require.NoError(t, err)
	l.lock(t, t.Context(), other, 2)
	require.Eventually(t, func() bool {
		n, err := redis.As[[]any](l.server.Do("PUBSUB", "NUMSUB", "lock:a"))
		return err == nil && n[1] == int64(1)
	}, patience, time.Millisecond)
	first := make(chan *Lock)
	go func() {
		held, err := fair.Lock(t.Context(), "a")
		if err != nil {
			t.Error(err)
		}
		first <- held
	}()
	l.await(t, 1)
	l.lock(t, t.Context(), fair, 1)
	l.await(t, 2)
	require.NoError(t, held.Unlock(t.Context()))
	held = <-first
	for _, by := range []*Locker{fair, other} {
		_, err = by.TryLock(t.Context(), "a")
		require.ErrorIs(t, err, ErrHeld)
	}
	require.NoError(t, held.Unlock(t.Context()))
	require.Equal(t, []int{1, 2}, l.order())
}

// A caller whose process is gone, or is cut off from the server, does not hold up those behind it for good. A caller
// that was cut off for long goes to the end of the queue. If a holder is cut off, the queue continues when its lock
// expires.
func TestFairAndCutOff(t *testing.T) {
	const short = 600 * time.Millisecond
	l := newLine(t)
	proxy := chaos.NewProxy(t, l.server.Addr(), chaos.ProxyOpts{})
	cut, gone, live := fairLocker(t, proxy.Addr(), short), fairLocker(t, l.server.Addr(), short), fairLocker(t, l.server.Addr(), 3*time.Second)
	held, err := cut.Lock(t.Context(), "a")
	require.NoError(t, err)
	l.lock(t, t.Context(), cut, 2)
	l.await(t, 1)
	ended := make(chan error)
	go func() {
		_, err := gone.Lock(t.Context(), "a")
		ended <- err
	}()
	l.await(t, 2)
	l.lock(t, t.Context(), live, 1)
	l.await(t, 3)
	proxy.Arm(chaos.Fault{Do: chaos.Swallow, On: chaos.Requests, At: chaos.AtRequest(isScript), Times: -1})
	gone.store.DB.(interface{ Close() }).Close()
	require.Error(t, <-ended)
	require.Equal(t, 1, <-l.got)
	require.ErrorIs(t, held.Context().Err(), context.Canceled)
	require.Equal(t, ErrLost, context.Cause(held.Context()))
	proxy.Heal()
	require.Equal(t, []int{2}, l.order())
	require.ErrorIs(t, held.Unlock(t.Context()), ErrLost)
}

// The answer that grants a place or the lock is lost: the caller asks again, and keeps its place.
func TestFairAnswersAreLost(t *testing.T) {
	l := newLine(t)
	proxy := chaos.NewProxy(t, l.server.Addr(), chaos.ProxyOpts{})
	a, b := fairLocker(t, proxy.Addr(), patience), fairLocker(t, l.server.Addr(), patience)
	held, err := a.Lock(t.Context(), "a")
	require.NoError(t, err)
	arm := func() *chaos.Armed {
		return proxy.Arm(chaos.Fault{Do: chaos.Cut, On: chaos.Replies, At: chaos.AtRequest(isScript)})
	}
	armed := arm()
	l.lock(t, t.Context(), a, 1)
	<-armed.First()
	l.await(t, 1)
	l.lock(t, t.Context(), b, 2)
	l.await(t, 2)
	l.lock(t, t.Context(), a, 3)
	l.await(t, 3)
	armed = arm()
	require.NoError(t, held.Unlock(t.Context()))
	<-armed.First()
	require.Equal(t, []int{1, 2, 3}, l.order())
}
