package lifetime

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

var errOwn = errors.New("a cause of the user's")

func TestContextWithoutDeadlineEndsTheLife(t *testing.T) {
	given, cancel := context.WithCancelCause(t.Context())
	ctx, end := Begin(given)
	defer end(ErrClosed)
	Made(ctx, given, func(error) { t.Error("it is not outlived") })
	assert.NoError(t, EndedBy(ctx))
	cancel(errOwn)
	assert.Error(t, ctx.Err())
	assert.ErrorIs(t, EndedBy(ctx), errOwn)
	assert.ErrorIs(t, EndedBy(ctx), context.Canceled)
}

func TestContextWithDeadlineBoundsTheMaking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		for _, end := range []func(cancel func()){func(cancel func()) { cancel() }, func(func()) { time.Sleep(time.Hour) }} {
			parent, cancel := context.WithTimeout(context.WithValue(t.Context(), key{}, 1), time.Minute)
			given, cancelChild := context.WithCancel(parent)
			ctx, over := Begin(given)
			var why []error
			Made(ctx, given, func(err error) { why = append(why, err) })
			end(cancel)
			synctest.Wait()
			assert.NoError(t, ctx.Err())
			assert.Equal(t, 1, ctx.Value(key{}))
			assert.Equal(t, []error{given.Err()}, why, "it is told once")
			over(ErrClosed)
			assert.Equal(t, ErrClosed, context.Cause(ctx))
			assert.Equal(t, ErrClosed, Reason(ctx))
			assert.ErrorIs(t, Reason(ctx), context.Canceled)
			assert.NoError(t, EndedBy(ctx), "nobody's context has ended it")
			cancelChild()
			cancel()
		}
	})
}

func TestNobodyIsToldAfterTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		given, cancel := context.WithTimeout(t.Context(), time.Minute)
		ctx, end := Begin(given)
		Made(ctx, given, func(error) { t.Error("it has ended before") })
		end(ErrClosed)
		synctest.Wait()
		cancel()
		synctest.Wait()
	})
}

func TestReason(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	assert.NoError(t, Reason(ctx))
	cancel(nil)
	assert.Equal(t, context.Canceled, Reason(ctx))
	late, stop := context.WithTimeoutCause(t.Context(), 0, errOwn)
	defer stop()
	assert.ErrorIs(t, Reason(late), context.DeadlineExceeded)
	assert.ErrorIs(t, Reason(late), errOwn)
	assert.Equal(t, context.DeadlineExceeded, Reason(overdue{t.Context()}))
}

// overdue is a context whose deadline has passed, but whose timer has not fired.
type overdue struct{ context.Context }

func (overdue) Deadline() (time.Time, bool) { return time.Now(), true }

// A context of Making bounds only the constructor, with or without a deadline. Its end is not
// reported.
func TestMaking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		parent, cancel := context.WithCancelCause(t.Context())
		given := Making(parent)
		ctx, end := Begin(given)
		Made(ctx, given, func(error) { t.Error("it was to be expected") })
		within, endWithin := Begin(ctx)
		cancel(errOwn)
		synctest.Wait()
		assert.ErrorIs(t, given.Err(), context.Canceled)
		assert.NoError(t, ctx.Err())
		assert.NoError(t, within.Err())
		end(ErrClosed)
		assert.Error(t, within.Err(), "what is made within lives no longer")
		endWithin(ErrClosed)
	})
}

// unasked is a user's context that fails the test when its Value is called: the caller may hold a
// lock.
type unasked struct {
	context.Context
	t *testing.T
}

func (u unasked) Value(key any) any {
	if _, whole := key.(wholeKey); whole {
		u.t.Error("the user's context was asked")
	}
	return u.Context.Value(key)
}

func TestWholeGoesOn(t *testing.T) {
	goesOn := true
	whole, end := Begin(unasked{t.Context(), t})
	defer end(ErrClosed)
	assert.False(t, WholeGoesOn(whole))
	ctx, endPart := Begin(Within(whole, func() bool { return goesOn }))
	child, cancel := context.WithCancel(ctx)
	defer cancel()
	endPart(ErrClosed)
	assert.True(t, WholeGoesOn(child))
	assert.NoError(t, whole.Err())
	own, endOwn := Begin(ctx) // an object that a user makes with a part's context is not a part
	defer endOwn(ErrClosed)
	assert.False(t, WholeGoesOn(own))
	goesOn = false
	assert.False(t, WholeGoesOn(child))
}
