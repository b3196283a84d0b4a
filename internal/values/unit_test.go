package values

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestUnits(t *testing.T) {
	for _, u := range units {
		if u.date {
			at, ok := u.dateOf(math.MaxInt64)
			if ok {
				n, ok := u.countDate(at)
				assert.True(t, ok)
				assert.EqualValues(t, int64(math.MaxInt64), n, u.name)
			}
			continue
		}
		var d time.Duration
		require.NoError(t, u.Read(&d, int64(-3)))
		n, err := u.Arg(d)
		require.NoError(t, err)
		assert.Equal(t, any(int64(-3)), n)
		err = u.Read(&d, int64(math.MaxInt64))
		assert.Equal(t, u.size == 1, err == nil, u.name)
	}
}

// The extreme dates of each unit are written and read back unchanged.
func TestUnitsOfDates(t *testing.T) {
	for _, u := range units {
		if !u.date {
			continue
		}
		for _, n := range []int64{math.MinInt64, -1, 0, 1, min(math.MaxInt64, lastSecond)} {
			at, ok := u.dateOf(n)
			assert.True(t, ok)
			back, ok := u.countDate(at)
			assert.True(t, ok, u.name)
			assert.Equal(t, n, back, u.name)
		}
	}
}
