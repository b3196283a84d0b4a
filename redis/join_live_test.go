package redis_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/testbed"
)

// Callers that share reads see their own writes, no matter who else reads the same key at that
// time.
func TestJoinSeesOwnWrites(t *testing.T) {
	s := redis.WithJoin(connectTo(t, testbed.NewServer(t).Addr()))
	db, ctx := redis.SyncCtx{S: s}, t.Context()
	const writers, writes = 4, 200
	var writing, reading sync.WaitGroup
	var done atomic.Bool
	for i := range writers {
		key := fmt.Sprint("k", i)
		for range 4 {
			reading.Go(func() {
				for last := 0; !done.Load(); {
					n, err := redis.DoAs[*int](ctx, s, "GET", key)
					if !assert.NoError(t, err) {
						return
					}
					if n != nil {
						assert.GreaterOrEqual(t, *n, last, "one caller's reads go back in time")
						last = *n
					}
				}
			})
		}
		writing.Go(func() {
			for v := 1; v <= writes; v++ {
				switch v % 3 {
				case 0:
					assert.NoError(t, redis.Err(db.Do(ctx, "INCR", key)))
				case 1:
					_, err := db.Transact(ctx, []redis.Request{redis.Req("INCR", key)})
					assert.NoError(t, err)
				case 2:
					assert.NoError(t, redis.Err(redis.NewScript("return redis.call('INCR', KEYS[1])").Do(ctx, s, []string{key})))
				}
				n, err := redis.DoAs[int](ctx, s, "GET", key)
				if !assert.NoError(t, err) || !assert.Equal(t, v, n) {
					return
				}
			}
		})
	}
	writing.Wait()
	done.Store(true)
	reading.Wait()
	require.False(t, t.Failed())
}
