package limit

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/lab/virtualtime"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redistest"
	"github.com/joomcode/redispipe/redistest/memserver"
)

// heldCalls is a sender that holds calls of the script until the test answers them.
type heldCalls struct {
	redis.Sender
	limiter *Limiter
	calls   chan heldCall
}

type heldCall struct {
	ns     []any // N of each take
	answer func(res any)
}

func newHeldCalls(t *testing.T) *heldCalls {
	h := &heldCalls{calls: make(chan heldCall, 1000)}
	var err error
	h.limiter, err = New(h, Opts{Rate: Rate{Count: 1000, Per: time.Hour}, OnUnavailable: Allow, Timeout: patience})
	require.NoError(t, err)
	return h
}

func (h *heldCalls) Send(r redis.Request, cb redis.Future, n uint64) {
	h.calls <- heldCall{r.Args[7:], func(res any) { cb.Resolve(res, n) }}
}

func (h *heldCalls) SendMany(reqs []redis.Request, cb redis.Future, start uint64) {
	for i, r := range reqs {
		h.Send(r, cb, start+uint64(i))
	}
}

// allow answers a call: all takes pass, and Remaining of each decision is the take's N.
func (c heldCall) allow() {
	var answers []any
	for _, n := range c.ns {
		answers = append(answers, int64(1), int64(n.(int)), int64(0), int64(0))
	}
	c.answer(append(answers, int64(0)))
}

// The waiting takes of a key share a call, in order, and each take gets its own answer.
func TestTakesShareCalls(t *testing.T) {
	virtualtime.Run(t, func(t *testing.T) {
		h := newHeldCalls(t)
		const callers = 128
		var group sync.WaitGroup
		want := []any{}
		for i := range callers {
			group.Go(func() {
				d, err := h.limiter.AllowN(t.Context(), "a", i)
				assert.NoError(t, err)
				assert.NoError(t, d.Unavailable)
				assert.Equal(t, i, d.Remaining)
			})
			synctest.Wait()
			if i >= callsMost {
				want = append(want, i)
			}
		}
		group.Go(func() {
			_, err := h.limiter.Allow(t.Context(), "another")
			assert.NoError(t, err)
		})
		synctest.Wait()
		require.Len(t, h.calls, callsMost+1, "another key does not wait")
		for range callsMost + 1 {
			(<-h.calls).allow()
		}
		synctest.Wait()
		require.Len(t, h.calls, 1)
		last := <-h.calls
		require.Equal(t, want, last.ns)
		last.allow()
		group.Wait()
		synctest.Wait()
		assert.Empty(t, h.limiter.lines.byKey)

		for range callsMost + takesMost + 1 { // one take more than fits into the running calls and a shared one
			group.Go(func() { _, _ = h.limiter.Allow(t.Context(), "a") })
		}
		synctest.Wait()
		require.Len(t, h.calls, callsMost+1)
		for range callsMost + 2 {
			(<-h.calls).allow()
			synctest.Wait()
		}
		group.Wait()
	})
}

// A caller that leaves before its call is sent takes nothing. If all have left, no call is sent.
func TestCallersLeave(t *testing.T) {
	virtualtime.Run(t, func(t *testing.T) {
		h := newHeldCalls(t)
		var group sync.WaitGroup
		begin := func(takes ...Take) context.CancelFunc {
			ctx, cancel := context.WithCancel(t.Context())
			group.Go(func() {
				d, err := h.limiter.AllowEach(ctx, takes...)
				if ctx.Err() != nil {
					assert.ErrorIs(t, err, context.Canceled)
					return
				}
				assert.NoError(t, err)
				assert.Len(t, d, len(takes))
			})
			synctest.Wait()
			return cancel
		}
		begin(Take{"a", 1}, Take{"a", 1})
		begin(Take{"a", 2}, Take{"a", 2})()
		begin(Take{"a", 3}, Take{"a", 3})
		for range callsMost {
			(<-h.calls).allow()
		}
		synctest.Wait()
		next := <-h.calls
		require.Equal(t, []any{0, 0, 3, 3}, next.ns)
		begin(Take{"a", 4})
		begin(Take{"a", 5})()
		synctest.Wait()
		(<-h.calls).allow()
		next.allow()
		group.Wait()
		synctest.Wait()
		assert.Empty(t, h.calls)
		assert.Empty(t, h.limiter.lines.byKey)
	})
}

// If a shared call returns an error or an answer of another length, or exceeds the timeout, OnUnavailable decides for
// each take.
func TestSharedCallsFail(t *testing.T) {
	virtualtime.Run(t, func(t *testing.T) {
		h := newHeldCalls(t)
		var group sync.WaitGroup
		for i := range 20 {
			group.Go(func() {
				d, err := h.limiter.Allow(t.Context(), "a")
				assert.NoError(t, err)
				assert.True(t, d.Allowed)
				assert.Equal(t, i >= callsMost, d.Unavailable != nil)
			})
			synctest.Wait()
		}
		for _, res := range []any{nil, nil, redistest.ErrNotSent.New("x")} {
			if c := <-h.calls; res == nil {
				c.allow()
			} else {
				c.answer(res)
			}
			synctest.Wait()
		}
		group.Wait()
		began := time.Now()
		for range 20 {
			group.Go(func() {
				d, err := h.limiter.Allow(t.Context(), "a")
				assert.NoError(t, err)
				assert.Error(t, d.Unavailable)
				assert.Equal(t, patience, time.Since(began))
			})
		}
		group.Wait()
		for len(h.calls) > 0 {
			(<-h.calls).allow()
			synctest.Wait()
		}
	})
}

// A shared call decides about its takes in the same way as a separate call for each take.
func TestSharedCallsAreExact(t *testing.T) {
	for name, kind := range kinds {
		server := memserver.Strict(t)
		rate := Rate{Count: 9, Per: 10 * time.Second}
		limiter, err := New(open(t, server.Addr()), Opts{Rate: rate, Kind: kind, Timeout: patience})
		require.NoError(t, err)
		now, random := time.Unix(1_800_000_000, 0), rand.New(rand.NewPCG(3, 4))
		for range 150 {
			now = now.Add(time.Duration(random.Int64N(int64(4 * time.Second))))
			server.Miniredis().SetTime(now)
			ns := make([]int, 1+random.IntN(6))
			for i := range ns {
				ns[i] = random.IntN(5)
			}
			together := &group{key: "together", ns: ns}
			limiter.call(t.Context(), together)
			require.NoError(t, together.err)
			var single []int64
			for _, n := range ns {
				one := &group{key: "single", ns: []int{n}}
				limiter.call(t.Context(), one)
				require.NoError(t, one.err)
				single = append(single, one.answers[:answerLen]...)
			}
			require.Equal(t, append(single, 0), together.answers, fmt.Sprint(name, ns))
		}
	}
}

// If the sender panics, the takes that share the call fail, and the program goes on.
func TestSharedCallPanics(t *testing.T) {
	h := newHeldCalls(t)
	panicking := &panicking{heldCalls: h}
	var err error
	h.limiter, err = New(panicking, Opts{Rate: Rate{Count: 1000, Per: time.Hour}, OnUnavailable: Deny, Timeout: patience})
	require.NoError(t, err)
	var callers sync.WaitGroup
	for range callsMost {
		callers.Go(func() { _, _ = h.limiter.Allow(t.Context(), "k") })
	}
	held := []heldCall{<-h.calls, <-h.calls}
	var decision Decision
	callers.Go(func() { decision, _ = h.limiter.Allow(t.Context(), "k") })
	require.Eventually(t, func() bool {
		h.limiter.lines.mu.Lock()
		defer h.limiter.lines.mu.Unlock()
		return h.limiter.lines.byKey["k"].next != nil
	}, patience, time.Millisecond)
	panicking.on.Store(true)
	for _, call := range held {
		call.allow()
	}
	callers.Wait()
	require.ErrorContains(t, decision.Unavailable, "panicked")
}

type panicking struct {
	*heldCalls
	on atomic.Bool
}

func (p *panicking) Send(r redis.Request, cb redis.Future, n uint64) {
	if p.on.Load() {
		panic("in a sender")
	}
	p.heldCalls.Send(r, cb, n)
}

// callerHook counts operations whose context has a caller.
type callerHook struct{ seen atomic.Int32 }

type callerKey struct{}

func (h *callerHook) Before(ctx context.Context, _ redis.Operation) context.Context {
	if ctx.Value(callerKey{}) != nil {
		h.seen.Add(1)
	}
	return ctx
}

func (*callerHook) After(context.Context, redis.Operation, redis.Completion) {}

// Hooks see the values of the context of the first caller that shares a call, even if that caller has left.
func TestSharedCallHasACaller(t *testing.T) {
	virtualtime.Run(t, func(t *testing.T) {
		h, hook := newHeldCalls(t), &callerHook{}
		h.limiter.db = redis.WithHook(h, hook)
		ctx := context.WithValue(t.Context(), callerKey{}, "first")
		left, leave := context.WithCancel(ctx)
		var group sync.WaitGroup
		for i := range callsMost + 2 {
			group.Go(func() { _, _ = h.limiter.Allow([]context.Context{ctx, ctx, left, t.Context()}[i], "a") })
			synctest.Wait()
		}
		leave()
		for range callsMost + 1 {
			(<-h.calls).allow()
			synctest.Wait()
		}
		group.Wait()
		require.Equal(t, int32(callsMost+1), hook.seen.Load())
	})
}
