package redispipe_test

import (
	"context"
	"fmt"
	"log"
	"testing"
	"time"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest"
	"github.com/joomcode/redispipe/testbed"
)

// Visits is a part of a service that keeps its data in Redis.
type Visits struct {
	DB redis.SyncCtx
}

// Count adds a visit of a page and returns how many there were.
func (v Visits) Count(ctx context.Context, page string) (int64, error) {
	var n int64
	err := v.DB.DoInto(ctx, &n, "HINCRBY", "visits", page, 1)
	return n, err
}

// All returns the visits of all pages.
func (v Visits) All(ctx context.Context) (map[string]int64, error) {
	return redis.As[map[string]int64](v.DB.Do(ctx, "HGETALL", "visits"))
}

func Example() {
	s, err := testbed.Start(testbed.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	addr := s.Addr()

	ctx := context.Background() // of the program: the connection lives until it ends
	conn, err := redisconn.Connect(ctx, addr, redisconn.Opts{Logger: redisconn.NoopLogger{}})
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	visits := Visits{DB: redis.SyncCtx{S: conn}}

	// In a handler, which may run in thousands of goroutines at once. The deadline of its
	// context holds, whatever the server does.
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	n, err := visits.Count(ctx, "home")

	fmt.Println(n, err)
	fmt.Println(visits.All(ctx))
	// Output:
	// 1 <nil>
	// map[home:1] <nil>
}

func visitsOfCluster(ctx context.Context, addrs []string) error {
	cluster, err := rediscluster.NewCluster(ctx, addrs, rediscluster.Opts{})
	if err != nil {
		return err
	}
	defer cluster.Close()
	visits := Visits{DB: redis.SyncCtx{S: cluster}}

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
	mock.Expect("INCR", "counter").NotSent()
	mock.Expect("INCR", "counter").Unknown()
	db := redis.SyncCtx{S: mock}
	ctx := context.Background()

	err := redis.AsError(db.Do(ctx, "INCR", "counter"))
	if redis.SafeToRetry(err) {
		err = redis.AsError(db.Do(ctx, "INCR", "counter")) // it did not run, and may do so this time
	}
	switch redis.OutcomeOf(err) {
	case redis.OutcomeValue: // it ran: err is nil, or the reply could not be read
	case redis.OutcomeRefused: // the server answered with an error
	case redis.OutcomeNotSent: // it did not run
	case redis.OutcomeUnknown: // it may have run
	}

	fmt.Println(redis.OutcomeOf(err))
	// Output: unknown
}
