package docs_test

import (
	"context"
	"fmt"

	"github.com/joomcode/redispipe/redis"
)

func Example_prefix() {
	ctx := context.Background()
	db, end := opened()
	defer end()
	db.Do(ctx, "RPUSH", "t1:b", "x")

	tenant := redis.WithPrefix(db, "t1:")
	one := redis.SyncCtx{S: tenant}
	one.Do(ctx, "SET", "k", "v")      // the key is t1:k
	one.Do(ctx, "BLPOP", "a", "b", 5) // [b x]: names in replies have no prefix
	for key, err := range redis.Keys(ctx, tenant, redis.ScanOpts{}) {
		fmt.Println(key, err) // k: only keys with the prefix, without it
	}
	// Output:
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
