package redisotel

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/joomcode/redispipe/redis"
)

// fresh returns each duration once, even after a connection was replaced.
func TestTimes(t *testing.T) {
	times, err := newTimes(noop.Meter{}, Opts{}, "name", "")
	require.NoError(t, err)
	var h redis.Histogram
	fresh := func(pool string) (n uint64) {
		for _, more := range times.fresh(pool, &h) {
			n += more
		}
		return n
	}
	require.Zero(t, fresh("a"))
	h.Add(time.Second, 3)
	require.EqualValues(t, 3, fresh("a"))
	require.Zero(t, fresh("a"))
	h.Add(time.Second, 1)
	h.Add(time.Millisecond, 2)
	require.EqualValues(t, 3, fresh("a"))
	require.EqualValues(t, 6, fresh("b"))
	h = redis.Histogram{}
	h.Add(time.Second, 2)
	require.EqualValues(t, 2, fresh("a"))
	times.keep(map[string]*pool{"b": {}})
	require.EqualValues(t, 2, fresh("a"))
	require.Zero(t, times.fresh("b", new(redis.Histogram))[time.Second])
}
