package redis

import (
	"bytes"
	"context"
	"log"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/send"
)

// countedHook is a hook made of functions. It counts its calls.
type countedHook struct {
	before      func(ctx context.Context) context.Context
	after       func()
	began, ends atomic.Int64
}

func (f *countedHook) Before(ctx context.Context, _ Operation) context.Context {
	f.began.Add(1)
	if f.before == nil {
		return nil
	}
	return f.before(ctx)
}

func (f *countedHook) After(context.Context, Operation, Completion) {
	if f.after != nil {
		f.after()
	}
	f.ends.Add(1)
}

func observerOf(f *countedHook) *observer { return &observer{Hook: f} }

// awaitCalls waits until the given number of calls are running.
func awaitCalls(t *testing.T, c *observer, running int64) {
	t.Helper()
	require.Eventually(t, func() bool { return c.running.Load() == running }, 10*time.Second, time.Millisecond)
}

func TestAfterGetsTheContextOfBefore(t *testing.T) {
	type key struct{}
	var got context.Context
	f := &countedHook{before: func(ctx context.Context) context.Context { return context.WithValue(ctx, key{}, "hook's") }}
	c := &observer{Hook: contexts{f, &got}}
	o := begin(t.Context(), c, Operation{Command: "GET"})
	require.NotNil(t, o.by)
	assert.Equal(t, "GET", o.op.Command)
	o.after(Completion{})
	assert.Equal(t, "hook's", got.Value(key{}))
}

// contexts is a hook that keeps the context that After gets.
type contexts struct {
	*countedHook
	got *context.Context
}

func (c contexts) After(ctx context.Context, _ Operation, _ Completion) { *c.got = ctx }

func TestObserverPanics(t *testing.T) {
	var printed bytes.Buffer
	defer log.SetOutput(log.Writer())
	log.SetOutput(&printed)
	c := observerOf(&countedHook{before: func(context.Context) context.Context { panic("broken hook") }})
	for range 3 {
		o := begin(t.Context(), c, Operation{Command: "GET"})
		assert.Nil(t, o.by)
		o.after(Completion{})
		o.endLater(nil, send.Server{})
	}
	assert.Equal(t, 1, bytes.Count(printed.Bytes(), []byte("broken hook")))
	assert.Zero(t, c.running.Load())
}

// If a hook ends its goroutine, the operation still ends, and later ones are not affected.
func TestObserverExits(t *testing.T) {
	c := observerOf(&countedHook{before: func(context.Context) context.Context { runtime.Goexit(); return nil }})
	for range 3 {
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			begin(context.Background(), c, Operation{Command: "GET"})
		}()
		<-ended
	}
	assert.Zero(t, c.running.Load())

	exits := &countedHook{after: runtime.Goexit}
	c = observerOf(exits)
	for range 3 {
		o := begin(t.Context(), c, Operation{Command: "GET"})
		o.endLater(nil, send.Server{})
	}
	awaitCalls(t, c, 0)
	assert.Zero(t, exits.ends.Load())
}

// A hook is not called for operations that it performs with its own context. If it performs them
// without that context, the recursion still ends.
func TestObserverCallsBack(t *testing.T) {
	f := &countedHook{}
	c := observerOf(f)
	f.before = func(ctx context.Context) context.Context {
		inner := begin(ctx, c, Operation{Command: "INCR"})
		assert.Nil(t, inner.by)
		return nil
	}
	begin(t.Context(), c, Operation{Command: "GET"})
	assert.EqualValues(t, 1, f.began.Load())

	f.before = func(context.Context) context.Context {
		begin(context.Background(), c, Operation{Command: "INCR"})
		return nil
	}
	begin(t.Context(), c, Operation{Command: "GET"})
	assert.EqualValues(t, 1+callsMost, f.began.Load())
	assert.Zero(t, c.running.Load())
}

// After is called once for each Before, no matter how many calls are running. For users' futures
// the calls wait until others have ended. A waiting caller calls After itself.
func TestAfterIsNeverLeftOut(t *testing.T) {
	const inFlight = 3 * callsMost
	release := make(chan struct{})
	f := &countedHook{after: func() { <-release }}
	c := observerOf(f)
	observed := make([]observation, inFlight+1)
	for i := range observed {
		observed[i] = begin(t.Context(), c, Operation{Command: "GET"})
	}
	own := observed[inFlight]
	for i := range inFlight {
		observed[i].endLater(nil, send.Server{})
	}
	require.EqualValues(t, callsMost, c.running.Load())
	late := begin(t.Context(), c, Operation{Command: "GET"})
	require.Nil(t, late.by, "no call begins while so many run")
	done := make(chan struct{})
	go func() {
		defer close(done)
		own.after(Completion{})
	}()
	awaitCalls(t, c, callsMost+1)
	close(release)
	<-done
	awaitCalls(t, c, 0)
	require.EqualValues(t, inFlight+1, f.ends.Load())
	require.Equal(t, f.began.Load(), f.ends.Load())
}
