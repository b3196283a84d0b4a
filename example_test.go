package redispipe_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strings"
	"testing"
	"time"

	"github.com/joomcode/redispipe"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redistest"
	"github.com/joomcode/redispipe/testbed"
)

func Example() {
	s, err := testbed.Start(testbed.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	ctx, url := context.Background(), "redis://"+s.Addr()

	db, err := redispipe.Open(ctx, url) // such as redis://user:password@localhost:6379/0
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	visits := Visits{DB: db}

	// In a handler, which may run in thousands of goroutines at once. The call returns by the
	// deadline of its context, whatever the server does.
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	n, err := visits.Count(ctx, "home")

	fmt.Println(n, err)
	fmt.Println(visits.All(ctx))
	// Output:
	// 1 <nil>
	// map[home:1] <nil>
}

func visitsOfCluster(ctx context.Context, nodes []string) error {
	db, err := redispipe.Open(ctx, "redis-cluster://"+strings.Join(nodes, ","))
	if err != nil {
		return err
	}
	defer db.Close()
	visits := Visits{DB: db}

	_, err = visits.Count(ctx, "home")
	return err
}

func TestVisitsOfCluster(t *testing.T) {
	t.Parallel()
	tb := testbed.NewCluster(t, testbed.ClusterOptions{Replicas: -1})
	if err := visitsOfCluster(t.Context(), tb.Addrs()); err != nil {
		t.Fatal(err)
	}
}

func Example_errors() {
	mock := redistest.NewMock(nil)
	mock.Expect("INCRBY", "counter", 10).Unknown()
	db := redis.SyncCtx{S: mock}
	ctx := context.Background()

	var n int64
	err := db.DoInto(ctx, &n, "INCRBY", "counter", 10)
	switch {
	case errors.Is(err, redis.ErrRefused): // the server answered with an error
	case errors.Is(err, redis.ErrNotSent): // it did not run, though the client tried until the deadline
	case errors.Is(err, redis.ErrUnknown): // it may have run
	}

	fmt.Println(redis.OutcomeOf(err))
	// Output: unknown
}
