package route

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/timing"
)

// Waiting reads are returned in the order in which they were sent, even if reads between them have
// ended.
func TestOverdue(t *testing.T) {
	r := &Reads{}
	reads := make([]*Read, 100)
	always := func(time.Duration, time.Duration) bool { return true }
	for i := range reads {
		reads[i] = &Read{Since: timing.Clock()}
		r.Begin(reads[i])
	}
	overdue, busy := r.Overdue(timing.Clock(), always)
	require.Empty(t, overdue, "nobody knows yet how long they take")
	require.True(t, busy)

	r.slow = time.Nanosecond
	left := reads[:0:0]
	for _, i := range rand.Perm(len(reads)) {
		if i%3 == 0 {
			r.End(reads[i], true)
			r.End(reads[i], false)
		}
	}
	for i, read := range reads {
		if i%3 != 0 {
			left = append(left, read)
		}
	}
	allowed := 10
	overdue, busy = r.Overdue(timing.Clock(), func(waited, slow time.Duration) bool {
		assert.GreaterOrEqual(t, waited, time.Duration(0))
		assert.Equal(t, time.Nanosecond, slow)
		allowed--
		return allowed >= 0
	})
	require.Equal(t, left[:10], overdue)
	require.True(t, busy)
	overdue, busy = r.Overdue(timing.Clock(), always)
	require.Equal(t, left[10:], overdue)
	require.False(t, busy)
	r.End(left[0], true)
	r.Begin(left[0])
	overdue, busy = r.Overdue(timing.Clock(), always)
	require.Empty(t, overdue, "it had ended before it could wait")
	require.False(t, busy)
}

// Most of the last reads took no longer.
func TestSlow(t *testing.T) {
	r := &Reads{}
	for i := range slowFirst {
		require.Zero(t, r.slow)
		took := time.Millisecond
		if i%10 == 0 {
			took = time.Minute
		}
		r.End(&Read{Since: timing.Clock() - took}, true)
	}
	assert.InDelta(t, time.Minute, r.slow, float64(10*time.Second), "the first few tell already")
	for range slowOf {
		r.End(&Read{Since: timing.Clock() - time.Hour}, false)
		r.End(&Read{Since: timing.Clock() - time.Second}, true)
	}
	assert.InDelta(t, time.Second, r.slow, float64(200*time.Millisecond))
	for range slowOf {
		r.End(&Read{Since: timing.Clock() - time.Hour}, true)
	}
	assert.InDelta(t, 2*time.Second, r.slow, float64(400*time.Millisecond), "it may be the last of them")
}
