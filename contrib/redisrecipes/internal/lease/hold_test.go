package lease

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

const ttl = 10 * time.Second

// renewed plays a server that answers requests to renew a lease after some time.
type renewed struct {
	mu    sync.Mutex // guards the fields below
	took  time.Duration
	ours  bool
	err   error
	calls int
	sent  time.Time // when the last request was sent
}

func (r *renewed) renew(ctx context.Context) (bool, error) {
	r.mu.Lock()
	r.calls++
	r.sent = time.Now()
	took, ours, err := r.took, r.ours, r.err
	r.mu.Unlock()
	select {
	case <-time.After(took):
		return ours, err
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

func (r *renewed) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.calls
}

func (r *renewed) last() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sent
}

func (r *renewed) change(took time.Duration, ours bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.took, r.ours, r.err = took, ours, err
}

// A hold lives as long as it is renewed, and ends before the TTL has passed since the last acknowledged request was sent.
func TestHoldEndsInTime(t *testing.T) {
	for name, fails := range map[string]*renewed{
		"silent":  {took: time.Hour},
		"refused": {err: errors.New("no")},
		"slow":    {took: ttl/3 + 1, ours: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := &renewed{took: time.Second, ours: true}
				sent := time.Now()
				time.Sleep(8 * time.Second) // the grant arrives late
				h := NewHold(t.Context(), ttl, sent, server.renew)
				time.Sleep(10 * ttl)
				require.NoError(t, h.Context().Err())
				for synctest.Wait(); time.Since(server.last()) < time.Second; synctest.Wait() {
					time.Sleep(time.Second) // the last request is answered
				}
				require.Greater(t, server.count(), 20)
				require.Less(t, server.count(), 40)
				last := server.last()
				server.change(fails.took, fails.ours, fails.err)
				<-h.Context().Done()
				require.Equal(t, certain(ttl), time.Since(last))
				require.Equal(t, ErrLost, context.Cause(h.Context()))
				require.False(t, h.End(errors.New("late")))
			})
		})
	}
}

// If the server answers that another owner has the lease, the hold ends.
func TestHoldIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &renewed{ours: true}
		h := NewHold(t.Context(), ttl, time.Now(), server.renew)
		time.Sleep(ttl)
		server.change(0, false, nil)
		<-h.Context().Done()
		require.Equal(t, ErrLost, context.Cause(h.Context()))
		require.False(t, h.End(nil))
	})
}

// In a process that was stopped, the context's Err shows that the lease has ended before a timer does.
func TestHoldLooksAtTheClock(t *testing.T) {
	h := &Hold{start: time.Now().Add(-ttl)}
	h.life, h.kill = context.WithCancelCause(t.Context())
	h.ctx, h.leave = context.WithCancelCause(t.Context())
	h.until.Store(int64(certain(ttl)))
	require.NoError(t, h.ctx.Err())
	require.ErrorIs(t, h.Context().Err(), context.Canceled)
	require.Equal(t, ErrLost, context.Cause(h.Context()))
	<-h.Context().Done()
}

// The context of a hold ends with its parent, but the lease is renewed until End.
func TestHoldOutlivesItsParent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &renewed{ours: true}
		parent, cancel := context.WithCancel(t.Context())
		h := NewHold(parent, ttl, time.Now(), server.renew)
		cancel()
		require.ErrorIs(t, h.Context().Err(), context.Canceled)
		time.Sleep(3 * ttl)
		require.Equal(t, 9, server.count())
		done := errors.New("done")
		require.True(t, h.End(done))
		require.True(t, h.End(ErrLost), "it has ended before")
		time.Sleep(3 * ttl)
		require.Equal(t, 9, server.count())
	})
}
