package redisfailover_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisfailover"
	"github.com/joomcode/redispipe/redistest/memserver"
)

// A program moves to another database, and back.
func Example() {
	near, err := memserver.Start()
	if err != nil {
		log.Fatal(err)
	}
	defer near.Close()
	far, err := memserver.Start()
	if err != nil {
		log.Fatal(err)
	}
	defer far.Close()
	ctx := context.Background()
	db, err := redisfailover.Open(ctx, []redisfailover.Member{
		{Name: "near", URL: "redis://" + near.Addr(), Weight: 2},
		{Name: "far", URL: "redis://" + far.Addr(), Weight: 1},
	}, redisfailover.Opts{Patience: 10 * time.Second, Logger: redisfailover.NoopLogger{}})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()

	for _, name := range []string{"near", "far", "near"} {
		if err := db.SwitchTo(name); err != nil {
			log.Fatal(err)
		}
		n, err := redis.DoAs[int](ctx, db, "INCR", "visits")
		fmt.Println(name, n, err)
	}
	// Output:
	// near 1 <nil>
	// far 1 <nil>
	// near 2 <nil>
}
