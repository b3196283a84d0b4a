//go:build !race

package redispipe_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/testbed"
)

// A client allocates no more than redis.SyncCtx. Under the race detector, pools drop values, so
// this test does not run with it.
func TestClientAllocations(t *testing.T) {
	ctx := t.Context()
	c := open(t, "redis://"+testbed.NewServer(t).Addr()+"?read_timeout=60s")
	db := redis.SyncCtx{S: c.Connection()}
	var n int64
	for name, do := range map[string][2]func() error{
		"SET": {
			func() error { return redis.AsError(c.Do(ctx, "SET", "key", "value")) },
			func() error { return redis.AsError(db.Do(ctx, "SET", "key", "value")) },
		},
		"GET": {
			func() error { return redis.AsError(c.Do(ctx, "GET", "key")) },
			func() error { return redis.AsError(db.Do(ctx, "GET", "key")) },
		},
		"INCR into int": {
			func() error { return c.DoInto(ctx, &n, "INCR", "n") },
			func() error { return db.DoInto(ctx, &n, "INCR", "n") },
		},
	} {
		allocated := [2]float64{}
		for i, do := range do {
			require.NoError(t, do())
			allocated[i] = testing.AllocsPerRun(1000, func() {
				if err := do(); err != nil {
					t.Error(err)
				}
			})
		}
		require.LessOrEqual(t, allocated[0], allocated[1], name)
	}
}

func BenchmarkClient(b *testing.B) {
	c := open(b, "redis://"+testbed.NewServer(b).Addr())
	db := redis.SyncCtx{S: c.Connection()}
	for name, do := range map[string]func() any{
		"Client":  func() any { return c.Do(b.Context(), "SET", "key", "value") },
		"SyncCtx": func() any { return db.Do(b.Context(), "SET", "key", "value") },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				do()
			}
		})
	}
}
