package hist

import (
	"math/rand"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestQuantilesAreWithinABucket(t *testing.T) {
	rnd := rand.New(rand.NewSource(1))
	var h Hist
	var all []time.Duration
	for range 100_000 {
		d := time.Duration(rnd.ExpFloat64() * float64(50*time.Microsecond))
		all = append(all, d)
		h.Record(d)
	}
	slices.Sort(all)
	for _, q := range []float64{0.001, 0.1, 0.5, 0.9, 0.99, 0.999} {
		want := float64(all[int(q*float64(len(all)))])
		assert.InEpsilon(t, want, float64(h.Quantile(q)), 0.04, "quantile %v", q)
	}
	assert.EqualValues(t, len(all), h.Total())
}

func TestBucketsAreOrderedAndHoldTheirMiddle(t *testing.T) {
	for i := range buckets - 1 {
		assert.Equal(t, i, bucket(middle(i)))
		assert.Less(t, middle(i), middle(i+1))
	}
}

func TestExtremes(t *testing.T) {
	var h Hist
	assert.Zero(t, h.Quantile(0.5))
	h.Record(-time.Second)
	assert.Zero(t, h.Quantile(1))
	h.Record(1 << 62)
	assert.GreaterOrEqual(t, h.Quantile(1), 17*time.Minute)
}

func TestMerge(t *testing.T) {
	var a, b Hist
	a.Record(10)
	b.Record(20)
	b.Record(30)
	a.Merge(&b)
	assert.EqualValues(t, 3, a.Total())
	assert.EqualValues(t, 20, a.Quantile(0.5))
}

func BenchmarkRecord(b *testing.B) {
	var h Hist
	for i := range b.N {
		h.Record(time.Duration(i&0xffff) * 100)
	}
}
