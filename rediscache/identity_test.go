package rediscache

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/lab/drill"
	"github.com/joomcode/redispipe/redis"
)

// Every caller gets the value of its own key, no matter which callers leave and which requests
// fail.
func TestIdentities(t *testing.T) {
	drill.Rotate(t)
	t.Parallel()
	r := newRig(t, Opts{Prefixes: []string{""}, MaxAge: time.Hour, MaxBytes: 1 << 20})
	const keys = 300
	values := make([]string, keys)
	for i := range values {
		values[i] = fmt.Sprintf("%d:%s", i, strings.Repeat("x", rand.IntN(1+1<<(i%16))))
		must(t, r.other.Do(t.Context(), "SET", fmt.Sprint("key:", i), values[i]))
	}
	must(t, r.other.Do(t.Context(), "RPUSH", "list", 1))
	var asked, answered, left, wrong atomic.Int64
	most := int64(40_000)
	if drill.InFull {
		most = 10_000_000
	}
	judge := func(res any, i int) {
		switch v := res.(type) {
		case []byte:
			answered.Add(1)
			if string(v) != values[i] {
				wrong.Add(1)
			}
		case error:
			left.Add(1)
		default:
			wrong.Add(1)
		}
	}
	var all sync.WaitGroup
	for seed := range uint64(32) {
		all.Go(func() {
			random := rand.New(rand.NewPCG(seed, 7))
			for asked.Add(1) < most {
				i, j := random.IntN(keys), random.IntN(keys)
				ctx, cancel := t.Context(), context.CancelFunc(func() {})
				if random.IntN(4) == 0 {
					ctx, cancel = context.WithTimeout(ctx, time.Duration(random.IntN(500))*time.Microsecond)
				}
				key, other := fmt.Sprint("key:", i), fmt.Sprint("key:", j)
				switch random.IntN(8) {
				case 0:
					r.cache.Invalidate(key, other)
				case 1:
					for at, res := range r.cache.DoMany(ctx, []redis.Request{redis.Req("GET", key), redis.Req("GET", other)}) {
						judge(res, []int{i, j}[at])
					}
				case 2:
					two, err := redis.As[[][]byte](r.cache.Do(ctx, "MGET", key, other))
					if err != nil {
						left.Add(1)
						break
					}
					judge(two[0], i)
					judge(two[1], j)
				case 3:
					if res := r.cache.Do(ctx, "GET", "list"); redis.AsError(res) == nil {
						wrong.Add(1)
					}
				case 4:
					var v string
					if err := r.cache.DoInto(ctx, &v, "GETRANGE", key, 0, -1); err != nil {
						left.Add(1)
						break
					}
					judge([]byte(v), i)
				default:
					judge(r.cache.Do(ctx, "GET", key), i)
				}
				cancel()
			}
		})
	}
	all.Wait()
	t.Logf("%d answered, %d left: %+v", answered.Load(), left.Load(), r.cache.Stats())
	require.Zero(t, wrong.Load())
	assert.Positive(t, left.Load())
}
