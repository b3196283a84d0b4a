package redisotel

import (
	"context"
	"maps"
	"sync"
	"time"

	"go.opentelemetry.io/otel/metric"

	"github.com/joomcode/redispipe/redis"
)

// times is a metric of durations that the client itself has counted. An observable metric can't be a histogram, so
// record adds the durations that were counted since its last call.
type times struct {
	histogram metric.Float64Histogram

	mu   sync.Mutex                          // guards seen
	seen map[string]map[time.Duration]uint64 // the recorded counts, by pool and bucket
}

func newTimes(meter metric.Meter, opts Opts, name, description string) (*times, error) {
	h, err := meter.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(description),
		metric.WithExplicitBucketBoundaries(opts.Buckets...))
	return &times{histogram: h, seen: make(map[string]map[time.Duration]uint64)}, err
}

// record records the durations of a pool that were counted since its last call.
func (t *times) record(ctx context.Context, pool string, all *redis.Histogram, attrs metric.RecordOption) {
	for took, n := range t.fresh(pool, all) {
		for range n {
			t.histogram.Record(ctx, took.Seconds(), attrs)
		}
	}
}

// fresh returns how many durations of each bucket are new since its last call. If a count has fallen since, the
// connections that had counted are gone, and all of the durations are new.
func (t *times) fresh(pool string, all *redis.Histogram) map[time.Duration]uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	earlier, now := t.seen[pool], maps.Collect(all.All())
	t.seen[pool] = now
	fresh := make(map[time.Duration]uint64, len(now))
	for took, n := range now {
		if before := earlier[took]; before <= n {
			n -= before
		}
		fresh[took] = n
	}
	return fresh
}

// keep forgets all pools that are not in pools.
func (t *times) keep(pools map[string]*pool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	maps.DeleteFunc(t.seen, func(name string, _ map[time.Duration]uint64) bool { return pools[name] == nil })
}
