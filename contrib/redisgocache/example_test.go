package redisgocache_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/eko/gocache/lib/v4/cache"
	"github.com/eko/gocache/lib/v4/store"

	"github.com/joomcode/redispipe"
	"github.com/joomcode/redispipe/contrib/redisgocache"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscache"
	"github.com/joomcode/redispipe/redistest/memserver"
)

// NewPages returns a cache of pages. The memory of the process is the first level of it.
func NewPages(db *redispipe.Client) (*cache.Cache[string], error) {
	memory, err := rediscache.New(db, rediscache.Opts{Prefixes: []string{"pages:"}, MaxAge: time.Minute})
	if err != nil {
		return nil, err
	}
	s := redisgocache.New[string](redis.WithPrefix(memory, "pages:"), store.WithExpiration(time.Hour))
	return cache.New[string](s), nil
}

func Example() {
	server, err := memserver.Start()
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	ctx := context.Background()
	db, err := redispipe.Open(ctx, "redis://"+server.Addr(), redispipe.Logger(nil))
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	pages, err := NewPages(db)
	if err != nil {
		log.Fatal(err)
	}
	if err := pages.Set(ctx, "home", "<h1>Welcome</h1>", store.WithTags([]string{"html"})); err != nil {
		log.Fatal(err)
	}
	fmt.Println(pages.Get(ctx, "home"))
	if err := pages.Invalidate(ctx, store.WithInvalidateTags([]string{"html"})); err != nil {
		log.Fatal(err)
	}
	_, err = pages.Get(ctx, "home")
	fmt.Println(errors.Is(err, store.NotFound{}))
	// Output:
	// <h1>Welcome</h1> <nil>
	// true
}
