package hooks

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
)

// fake is a hook made of functions, which counts its calls.
type fake struct {
	before      func(ctx context.Context) context.Context
	after       func()
	began, ends atomic.Int64
}

func (f *fake) Before(ctx context.Context, _ string) context.Context {
	f.began.Add(1)
	if f.before == nil {
		return nil
	}
	return f.before(ctx)
}

func (f *fake) After(context.Context, string, int) {
	if f.after != nil {
		f.after()
	}
	f.ends.Add(1)
}

func caller(f *fake) *Caller[string, int] { return &Caller[string, int]{Hook: f} }

// await waits until that many calls are under way.
func await(t *testing.T, c *Caller[string, int], running int64) {
	t.Helper()
	require.Eventually(t, func() bool { return c.running.Load() == running }, 10*time.Second, time.Millisecond)
}

func TestAfterGetsTheContextOfBefore(t *testing.T) {
	type key struct{}
	var got context.Context
	f := &fake{before: func(ctx context.Context) context.Context { return context.WithValue(ctx, key{}, "hook's") }}
	c := &Caller[string, int]{Hook: contexts{f, &got}}
	o := c.Begin(t.Context(), "GET")
	require.True(t, o.Hooked())
	assert.Equal(t, "GET", o.Op)
	o.End(1)
	assert.Equal(t, "hook's", got.Value(key{}))
}

// contexts keeps the context of After.
type contexts struct {
	*fake
	got *context.Context
}

func (c contexts) After(ctx context.Context, _ string, _ int) { *c.got = ctx }

func TestPanics(t *testing.T) {
	var printed bytes.Buffer
	defer log.SetOutput(log.Writer())
	log.SetOutput(&printed)
	c := caller(&fake{before: func(context.Context) context.Context { panic("broken hook") }})
	for range 3 {
		o := c.Begin(t.Context(), "GET")
		assert.False(t, o.Hooked())
		o.End(1)
		o.EndAside(1)
	}
	assert.Equal(t, 1, bytes.Count(printed.Bytes(), []byte("broken hook")))
	assert.Zero(t, c.running.Load())
}

// A hook that ends its goroutine leaves nothing half done.
func TestExits(t *testing.T) {
	c := caller(&fake{before: func(context.Context) context.Context { runtime.Goexit(); return nil }})
	for range 3 {
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			c.Begin(context.Background(), "GET")
		}()
		<-ended
	}
	assert.Zero(t, c.running.Load())

	exits := &fake{after: runtime.Goexit}
	c = caller(exits)
	for range 3 {
		o := c.Begin(t.Context(), "GET")
		o.EndAside(1)
	}
	await(t, c, 0)
	assert.Zero(t, exits.ends.Load())
}

// A hook that does with its context what it is called for is not called for that; one that
// does so without it comes to an end.
func TestCallsBack(t *testing.T) {
	f := &fake{}
	c := caller(f)
	f.before = func(ctx context.Context) context.Context {
		inner := c.Begin(ctx, "INCR")
		assert.False(t, inner.Hooked())
		return nil
	}
	c.Begin(t.Context(), "GET")
	assert.EqualValues(t, 1, f.began.Load())

	f.before = func(context.Context) context.Context {
		c.Begin(context.Background(), "INCR")
		return nil
	}
	c.Begin(t.Context(), "GET")
	assert.EqualValues(t, 1+most, f.began.Load())
	assert.Zero(t, c.running.Load())
}

// After is called once for each Before, however many calls are under way: those aside wait for
// others to end, and a caller calls its own.
func TestAfterIsNeverLeftOut(t *testing.T) {
	const inFlight = 3 * most
	release := make(chan struct{})
	f := &fake{after: func() { <-release }}
	c := caller(f)
	observed := make([]Observed[string, int], inFlight+1)
	for i := range observed {
		observed[i] = c.Begin(t.Context(), "GET")
	}
	own := observed[inFlight]
	for i := range inFlight {
		observed[i].EndAside(1)
	}
	require.EqualValues(t, most, c.running.Load())
	late := c.Begin(t.Context(), "GET")
	require.False(t, late.Hooked(), "no call begins while so many run")
	done := make(chan struct{})
	go func() {
		defer close(done)
		own.End(1)
	}()
	await(t, c, most+1)
	close(release)
	<-done
	await(t, c, 0)
	require.EqualValues(t, inFlight+1, f.ends.Load())
	require.Equal(t, f.began.Load(), f.ends.Load())
}
