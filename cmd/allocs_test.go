//go:build !race

package cmd_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/cmd"
	"github.com/joomcode/redispipe/redis"
)

// pairs returns functions that send the same request in three ways: as a command, with DoInto and
// with Do.
func pairs(t testing.TB) map[string][3]func() error {
	ctx, c := t.Context(), open(t)
	key, n := "some key", 1000
	c.Do(ctx, "SET", "string", "value")
	c.Do(ctx, "ZADD", "z", 1, "a")
	return map[string][3]func() error{
		"GET": {
			func() error { return second(cmd.Get[string]("string").Do(ctx, c)) },
			func() error { var v string; return c.DoInto(ctx, &v, "GET", "string") },
			func() error { return redis.Err(c.Do(ctx, "GET", "string")) },
		},
		"INCR": {
			func() error { return second(cmd.Incr("n").Do(ctx, c)) },
			func() error { var v int64; return c.DoInto(ctx, &v, "INCR", "n") },
			func() error { return redis.Err(c.Do(ctx, "INCR", "n")) },
		},
		"SET": {
			func() error {
				return second(cmd.Set(key, n, cmd.EX(time.Duration(n)*time.Second), nil).Do(ctx, c))
			},
			func() error { var v string; return c.DoInto(ctx, &v, "SET", key, n, "EX", n) },
			func() error { return redis.Err(c.Do(ctx, "SET", key, n, "EX", n)) },
		},
		"ZADD": {
			func() error {
				return second(cmd.ZAdd("z", []redis.Scored[string]{{Member: "a", Score: float64(n)}}, nil, cmd.GT, cmd.CH).Do(ctx, c))
			},
			func() error { var v int64; return c.DoInto(ctx, &v, "ZADD", "z", "GT", "CH", float64(n), "a") },
			func() error { return redis.Err(c.Do(ctx, "ZADD", "z", "GT", "CH", float64(n), "a")) },
		},
	}
}

// A command allocates no more than DoInto and Do with the same words.
func TestAllocations(t *testing.T) {
	for name, do := range pairs(t) {
		var allocated [3]float64
		for i, f := range do {
			require.NoError(t, f())
			allocated[i] = testing.AllocsPerRun(1000, func() {
				if err := f(); err != nil {
					t.Error(err)
				}
			})
		}
		t.Log(name, allocated)
		require.LessOrEqual(t, allocated[0], min(allocated[1], allocated[2]), name)
	}
}

func BenchmarkCmd(b *testing.B) {
	for name, do := range pairs(b) {
		for i, how := range []string{"Cmd", "DoInto", "Do"} {
			b.Run(name+"/"+how, func(b *testing.B) {
				b.ReportAllocs()
				b.SetParallelism(64)
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						_ = do[i]()
					}
				})
			})
		}
	}
}
