package rediscache_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/joomcode/redispipe"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscache"
	"github.com/joomcode/redispipe/testbed"
)

// The server is asked for a value once, and again after a write.
func Example() {
	server, err := testbed.Start(testbed.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	ctx := context.Background()
	client, err := redispipe.Open(ctx, "redis://"+server.Addr(), redispipe.Logger(nil))
	if err != nil {
		log.Fatal(err)
	}
	cache, err := rediscache.New(client, rediscache.Opts{Prefixes: []string{"user:"}, MaxAge: time.Minute})
	if err != nil {
		log.Fatal(err)
	}
	defer cache.Close()
	for cache.Stats().Leases == 0 { // the cache dials in the background
		time.Sleep(time.Millisecond)
	}

	for _, name := range []string{"Ann", "Eve"} {
		if err := redis.Err(cache.Do(ctx, "SET", "user:1", name)); err != nil {
			log.Fatal(err)
		}
		for range 3 {
			var name string
			if err := cache.DoInto(ctx, &name, "GET", "user:1"); err != nil {
				log.Fatal(err)
			}
			fmt.Print(name, " ")
		}
	}
	fmt.Println(cache.Stats().Hits > 0)
	// Output: Ann Ann Ann Eve Eve Eve true
}
