package oracle

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
)

func TestClassify(t *testing.T) {
	for _, tt := range []struct {
		res   any
		want  Outcome
		typed bool
	}{
		{nil, Value, true},
		{"OK", Value, true},
		{redis.ErrResult.New("ERR"), ServerError, true},
		{redis.ErrMoved.New("MOVED"), ServerError, true},
		{redis.ErrContextClosed.New("closed"), NotSent, true},
		{redis.ErrQueueFull.New("full"), NotSent, true},
		{redis.ErrIO.New("io"), Unknown, true},
		{redis.ErrResponseFormat.New("format"), Unknown, true},
		{errors.New("plain"), Unknown, false},
	} {
		outcome, typed := Classify(tt.res)
		require.Equal(t, tt.want, outcome, "%v", tt.res)
		require.Equal(t, tt.typed, typed, "%v", tt.res)
	}
}

func TestValueTellsWhoseItIs(t *testing.T) {
	for _, size := range []int{0, 64, 1000, 65536} {
		value := NewValue("l:1", "key", size)
		require.GreaterOrEqual(t, len(value), size)
		tag, key, err := ReadValue(value)
		require.NoError(t, err)
		require.Equal(t, "l:1", tag)
		require.Equal(t, "key", key)
		require.NoError(t, IsValueOf("key")(value))
		require.Error(t, IsValueOf("other")(value))
		value[len(value)/2] ^= 1
		require.Error(t, IsValueOf("key")(value))
		require.Error(t, IsValueOf("key")(value[:len(value)-1]))
	}
	require.NoError(t, IsValueOf("key")(nil))
}

func TestSlope(t *testing.T) {
	begin := time.Now()
	var samples []Sample
	for i := range 10 {
		samples = append(samples, Sample{At: begin.Add(time.Duration(i) * time.Minute), Goroutines: 5 + i})
	}
	require.InDelta(t, 60, Slope(samples, func(s Sample) float64 { return float64(s.Goroutines) }), 0.001)
}

func TestWatchResources(t *testing.T) {
	r := WatchResources(time.Millisecond, false)
	require.NotEmpty(t, r.Stop())
	require.Positive(t, TakeSample(true).HeapInuse)
}
