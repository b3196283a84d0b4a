package docs_test

import (
	"context"
	"fmt"
	"log"
	"slices"
	"sync"
	"time"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscache"
)

func Example_prefix() {
	ctx := context.Background()
	db, end := opened()
	defer end()
	db.Do(ctx, "RPUSH", "t1:b", "x")

	tenant := redis.WithPrefix(db, "t1:")
	one := redis.SyncCtx{S: tenant}
	one.Do(ctx, "SET", "k", "v") // the key is t1:k
	popped, err := redis.As[[]string](one.Do(ctx, "BLPOP", "a", "b", 5))
	fmt.Println(popped, err) // [b x] <nil>: names in replies have no prefix
	for key, err := range redis.Keys(ctx, tenant, redis.ScanOpts{}) {
		fmt.Println(key, err) // k: only keys with the prefix, without it
	}
	// Output:
	// [b x] <nil>
	// k <nil>
}

func Example_join() {
	ctx := context.Background()
	db, end := opened()
	defer end()
	db.Do(ctx, "SET", "page:home", "welcome")

	shared := redis.WithJoin(db)
	page, err := redis.DoAs[string](ctx, shared, "GET", "page:home")
	fmt.Println(page, err)
	// Output:
	// welcome <nil>
}

func Example_hotKeys() {
	ctx := context.Background()
	db, end := opened()
	defer end()

	watched, hot := redis.WithHotKeys(db, redis.HotKeysOpts{
		OnHot: func(k redis.HotKey) { log.Printf("%q has %.0f %% of the traffic", k.Key, 100*k.Share) },
	})
	// Send everything through watched.
	redis.SyncCtx{S: watched}.SendMany(ctx, slices.Repeat([]redis.Request{redis.Req("GET", "page:home")}, 1000))
	for _, k := range hot.Top(10) { // by requests; TopBytes is by bytes
		fmt.Printf("%s: %.0f %%\n", k.Key, 100*k.Share) // page:home: 100 %
	}
	// Output:
	// page:home: 100 %
}

// cachingHotKeys returns a function that reads keys, the hot ones through a cache.
func cachingHotKeys(db redis.Sender) (func(ctx context.Context, key string) (string, error), error) {
	cache, err := rediscache.New(db, rediscache.Opts{}) // keeps nothing by itself
	if err != nil {
		return nil, err
	}
	var isHot sync.Map
	recent := cache.WithMaxAge(time.Second)
	watched, _ := redis.WithHotKeys(cache, redis.HotKeysOpts{
		OnHot: func(k redis.HotKey) { isHot.Store(k.Key, true) },
	})
	return func(ctx context.Context, key string) (string, error) {
		if _, hot := isHot.Load(key); hot {
			return redis.DoAs[string](ctx, recent, "GET", key)
		}
		return redis.DoAs[string](ctx, watched, "GET", key)
	}, nil
}

var _ = cachingHotKeys
