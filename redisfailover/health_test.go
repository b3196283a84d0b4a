package redisfailover

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redistest"
)

// play reports the results of each tick to a member, and returns the first tick at which the member
// is down, or -1.
func play(ticks ...count) int {
	const patience = time.Second
	var h health
	total, at := count{good: 1}, time.Unix(1000, 0)
	h.tick(at, total, false)
	for i, ended := range ticks {
		total.good, total.bad = total.good+ended.good, total.bad+ended.bad
		at = at.Add(patience / windowTicks)
		h.tick(at, total, false)
		if h.isDown(at, patience, 0.5) {
			return i
		}
	}
	return -1
}

// times repeats a tick.
func times(n int, c count) (ticks []count) {
	for range n {
		ticks = append(ticks, c)
	}
	return ticks
}

func join(parts ...[]count) (all []count) {
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

func TestIsDown(t *testing.T) {
	for name, tt := range map[string]struct {
		ticks []count
		down  int
	}{
		"nothing happens":                       {times(100, count{}), -1},
		"all is well":                           {times(100, count{5, 0}), -1},
		"nothing succeeds, for as long as that": {times(100, count{0, 1}), windowTicks - 1},
		"two probes fail, late":                 {join(times(10, count{}), times(1, count{0, 1}), times(10, count{}), times(1, count{0, 1})), 21},
		"one probe fails":                       {join(times(1, count{0, 1}), times(100, count{})), -1},
		"a burst fails with a socket":           {join(times(1, count{0, 10_000}), times(100, count{10, 0})), -1},
		"half fail":                             {times(100, count{5, 5}), windowTicks},
		"half fail, after all was well":         {join(times(3, count{5, 0}), times(100, count{5, 5})), 3 + windowTicks},
		"less than half fail":                   {times(100, count{6, 5}), -1},
		"half of few fail":                      {times(100, count{1, 1}), -1},
		"half fail, but not for long":           {join(times(windowTicks/2, count{5, 5}), times(100, count{10, 0})), -1},
		"it answers in between":                 {join(times(6, count{0, 1}), times(1, count{1, 0}), times(6, count{0, 1}), times(1, count{1, 0})), -1},
	} {
		require.Equal(t, tt.down, play(tt.ticks...), name)
	}
}

// A member is sound when nothing has failed for a while.
func TestIsSound(t *testing.T) {
	begin := time.Unix(1000, 0)
	var h health
	h.tick(begin, count{1, 0}, false)
	require.True(t, h.isSound(begin, time.Second), "nothing has ever failed")
	h.tick(begin, count{100, 1}, false)
	require.False(t, h.isSound(begin, time.Second))
	h.tick(begin.Add(time.Second), count{200, 1}, false)
	require.True(t, h.isSound(begin.Add(time.Second), time.Second))
}

// Successes are counted one by one while something fails. Otherwise a sample of them is counted; if it is empty, a
// tick still has a success.
func TestCountsASample(t *testing.T) {
	m := &member{opts: &Opts{Patience: time.Second, FailureRate: 0.5}, opened: redistest.NewMock(t), up: true}
	at := time.Unix(1000, 0)
	tick := func() { at = at.Add(time.Second / windowTicks); m.judged(at, false) }
	good := func(n uint64, f func()) {
		t.Helper()
		before := m.good.Load()
		f()
		require.Equal(t, before+n, m.good.Load())
	}
	good(64, func() {
		m.note("OK", 0)
		m.note("OK", 64)
	})
	good(0, tick)
	good(1, func() {
		m.note("OK", 0)
		tick()
	})
	good(0, tick)
	good(2, func() {
		m.failed(io.EOF)
		tick()
		m.note("OK", 0)
		m.note("OK", 64)
	})
	good(0, func() {
		for range windowTicks {
			tick()
		}
		m.note("OK", 0)
	})
	good(1, tick)
}

// If the process has not run for a while, failures of that time do not count against a member.
func TestLateTick(t *testing.T) {
	var h health
	begin := time.Unix(1000, 0)
	h.tick(begin, count{1, 0}, false)
	for _, late := range []bool{true, false} {
		at := begin.Add(time.Hour)
		h.tick(at, count{1, 5}, late)
		require.Equal(t, !late, h.isDown(at, time.Second, 0.5))
		h = health{}
		h.tick(begin, count{1, 0}, false)
	}
}

func TestSignOf(t *testing.T) {
	for _, tt := range []struct {
		res  any
		sign sign
	}{
		{nil, signGood}, {"OK", signGood}, {[]any{errors.New("a part")}, signGood}, {redis.ScanEOF, signGood},
		{redis.ErrResult.New("WRONGTYPE"), signGood}, {redis.ErrMoved.New("MOVED"), signGood}, {redis.ErrUnblocked.New("UNBLOCKED"), signGood},
		{redis.ErrLoading.New("LOADING"), signBad}, {redis.ErrReadOnly.New("READONLY"), signBad}, {redis.ErrClusterDown.New("CLUSTERDOWN"), signBad},
		{redis.ErrIO.New("lost"), signBad}, {io.EOF, signBad}, {redis.ErrContextClosed.New("closed"), signBad}, {redis.ErrPing.New("x"), signBad},
		{redis.ErrRequestCancelled.Wrap(context.Canceled, "left"), signNone}, {redis.ErrRequestWithdrawn.New("x"), signNone},
		{redis.ErrQueueFull.New("x"), signNone}, {redis.ErrOverloaded.New("x"), signNone}, {redis.ErrArgumentType.New("x"), signNone},
		{redis.ErrContextIsNil.New("x"), signNone},
	} {
		require.Equal(t, tt.sign, signOf(tt.res), "%v", tt.res)
		if err := redis.Err(tt.res); err != nil {
			require.Equal(t, tt.sign, signOf(err), "%v", err)
		}
	}
}
