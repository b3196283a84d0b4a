package docs_test

import (
	"context"
	"testing"
	"time"

	"github.com/joomcode/redispipe"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscache"
)

var (
	_ = func(ctx context.Context, url string) error {
		db, err := redispipe.Open(ctx, url)
		if err != nil {
			return err
		}
		// The cache keeps replies for keys of users and pages. Other requests pass through.
		cache, err := rediscache.New(db, rediscache.Opts{
			Prefixes: []string{"user:", "page:"},
			MaxAge:   time.Minute,
			MaxBytes: 256 << 20,
		})
		if err != nil {
			return err
		}
		defer cache.Close() // also closes db

		var name string
		if err := cache.DoInto(ctx, &name, "HGET", "user:1", "name"); err != nil {
			return err
		}
		return nil
	}
	_ = func(ctx context.Context, cache *rediscache.Cache) error {
		// Caches any key; replies up to ten seconds old are acceptable. Create it once and keep it.
		recent := cache.WithMaxAge(10 * time.Second)
		rates, err := redis.As[map[string]float64](recent.Do(ctx, "HGETALL", "rates"))
		_ = rates
		return err
	}
	_ = func(ctx context.Context, cache *rediscache.Cache) error {
		if err := redis.Err(cache.Do(ctx, "HSET", "user:1", "name", "Ann")); err != nil {
			return err // if the write may have run, the copies of user:1 are dropped all the same
		}
		// From here on, no goroutine of this process reads the old name through the cache.
		return nil
	}
	_ = func(t *testing.T, cache *rediscache.Cache) {
		cache.Invalidate("user:1") // as if another client had changed it
		cache.InvalidateAll()      // as if the connection had been lost
	}
	_ = func(cache *rediscache.Cache) float64 {
		st := cache.Stats()
		return float64(st.Hits) / float64(st.Hits+st.Joined+st.Misses+st.First+st.Passed)
	}
)
