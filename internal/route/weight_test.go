package route

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestChoose(t *testing.T) {
	const draws = 10000
	cases := []struct {
		name    string
		weights []uint64
		shares  []float64
	}{
		{"one", []uint64{5}, []float64{1}},
		{"even", []uint64{1, 1}, []float64{0.5, 0.5}},
		{"replicas preferred", []uint64{1, 3, 3}, []float64{1. / 7, 3. / 7, 3. / 7}},
		{"zero is not drawn", []uint64{0, 1, 0}, []float64{0, 1, 0}},
		{"all zero count as equal", []uint64{0, 0, 0, 0}, []float64{0.25, 0.25, 0.25, 0.25}},
		{"large", []uint64{3 * 100 << 32, 100 << 32}, []float64{0.75, 0.25}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			counts := make([]int, len(c.weights))
			for seed := range uint32(draws) {
				counts[choose(c.weights, seed)]++
			}
			for i, share := range c.shares {
				assert.InDelta(t, share*draws, counts[i], draws/100, "index %d", i)
			}
		})
	}
}

func TestLatencyShare(t *testing.T) {
	assert.Equal(t, uint64(100), latencyShare(10, 10))
	assert.Equal(t, uint64(25), latencyShare(10, 40))
	assert.Equal(t, uint64(1), latencyShare(10, 100000))
}
