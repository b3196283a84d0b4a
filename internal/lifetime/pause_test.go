package lifetime

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestDoubledPause(t *testing.T) {
	var got []time.Duration
	for n := range 6 {
		got = append(got, DoubledPause(50, 300, n))
	}
	assert.Equal(t, []time.Duration{50, 100, 200, 300, 300, 300}, got)
	assert.Equal(t, time.Hour, DoubledPause(time.Millisecond, time.Hour, math.MaxInt))
	assert.Equal(t, time.Duration(5), DoubledPause(9, 5, 0))
}

func TestJitter(t *testing.T) {
	for range 100 {
		d := Jitter(10 * time.Millisecond)
		assert.GreaterOrEqual(t, d, 5*time.Millisecond)
		assert.Less(t, d, 15*time.Millisecond)
	}
	assert.Zero(t, Jitter(0))
}

func TestPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		woken, err := Pause(ctx, time.Second, nil)
		assert.False(t, woken)
		assert.NoError(t, err)
		assert.Equal(t, time.Second, time.Since(began))

		wake := make(chan struct{}, 1)
		time.AfterFunc(time.Minute, func() { wake <- struct{}{} })
		woken, err = Pause(ctx, time.Hour, wake)
		assert.True(t, woken)
		assert.NoError(t, err)

		time.AfterFunc(time.Minute, cancel)
		woken, err = Pause(ctx, time.Hour, wake)
		assert.False(t, woken)
		assert.ErrorIs(t, err, context.Canceled)
		assert.Equal(t, 2*time.Minute+time.Second, time.Since(began))
	})
}

func TestRedial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r Redial
		waited := func(lived time.Duration, connected bool) time.Duration {
			began := time.Now()
			time.Sleep(lived)
			r.Wait(t.Context(), began, connected)
			return time.Since(began) - lived
		}
		for bound := 2 * redialFirst; bound < redialLongest; bound *= 2 {
			assert.Less(t, waited(time.Second, false), bound, "not connected")
		}
		var longest time.Duration
		for range 100 {
			longest = max(longest, waited(usefulLeast-1, true))
		}
		assert.Less(t, longest, redialLongest)
		assert.Greater(t, longest, redialLongest/2, "of no use")
		assert.Zero(t, waited(usefulLeast, true))
		assert.Less(t, waited(0, false), 2*redialFirst, "the pauses begin anew")
	})
}
