package redispipe_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"testing"
	"time"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster"
	"github.com/joomcode/redispipe/redisconn"
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

	ctx := context.Background()
	conn, err := redisconn.Connect(ctx, addr, redisconn.Opts{Logger: redisconn.NoopLogger{}})
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	visits := Visits{DB: redis.SyncCtx{S: conn}}

	// In a handler, which may run in thousands of goroutines at once: their requests
	// share the connection, and form batches by themselves. The deadline of its
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

func Example_results() {
	s, err := testbed.Start(testbed.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	ctx := context.Background()
	conn, err := redisconn.Connect(ctx, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	db := redis.SyncCtx{S: conn}

	res := db.Do(ctx, "SET", "key", "value", "EX", 60)
	if err := redis.AsError(res); err != nil {
		log.Fatal(err)
	}
	switch res := db.Do(ctx, "GET", "key").(type) {
	case []byte:
		fmt.Printf("%s\n", res)
	case nil:
		fmt.Println("no such key")
	case error:
		log.Fatal(res)
	}

	// Several requests in one batch, with a result for each.
	for _, res := range db.SendMany(ctx, []redis.Request{
		redis.Req("INCR", "counter"),
		redis.Req("INCRBY", "counter", 10),
	}) {
		fmt.Println(res)
	}

	// All or nothing.
	results, err := db.SendTransaction(ctx, []redis.Request{
		redis.Req("SET", "a", 1),
		redis.Req("INCR", "a"),
	})
	fmt.Println(results, err)

	// All keys of a pattern.
	for it := db.Scanner(ctx, redis.ScanOpts{Match: "count*"}); ; {
		keys, err := it.Next()
		if err == redis.ScanEOF {
			break
		}
		if err != nil {
			log.Fatal(err)
		}
		for _, key := range keys {
			fmt.Println(key)
		}
	}
	// Output:
	// value
	// 1
	// 11
	// [OK 2] <nil>
	// counter
}

func Example_stream() {
	s, err := testbed.Start(testbed.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	ctx := context.Background()
	conn, err := redisconn.Connect(ctx, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	db := redis.SyncCtx{S: conn}
	db.Do(ctx, "SET", "film", "a long one")
	w := os.Stdout

	n := conn.DoStream(ctx, w, "GET", "film")
	if err := redis.AsError(n); err != nil {
		log.Fatal(err)
	}
	fmt.Println(":", n, "bytes")
	// Output: a long one: 10 bytes
}

func Example_outcome() {
	for _, res := range []any{
		"OK",
		redis.ErrLoading.New("LOADING Redis is loading the dataset in memory"),
		redis.ErrQueueFull.New("full"),
		redis.ErrIO.New("broken"),
	} {
		fmt.Println(redis.OutcomeOf(res), redis.SafeToRetry(redis.AsError(res)))
	}
	// Output:
	// value false
	// refused true
	// not sent true
	// unknown false
}

func clusterOf(ctx context.Context, addrs []string) error {
	cluster, err := rediscluster.NewCluster(ctx, addrs, rediscluster.Opts{})
	if err != nil {
		return err
	}
	defer cluster.Close()
	db := redis.SyncCtx{S: cluster}
	if err := redis.AsError(db.Do(ctx, "SET", "key", "value")); err != nil {
		return err
	}

	// Keys of several slots: MGET, MSET, DEL, UNLINK, EXISTS and TOUCH can be split.
	res := rediscluster.SendSplit(ctx, cluster, redis.Req("MGET", "key", "other"))
	if err := redis.AsError(res); err != nil {
		return err
	}

	// Reads that may be a little behind, from replicas where there are any.
	reads := redis.SyncCtx{S: cluster.WithPolicy(rediscluster.PreferSlaves)}
	_, err = redis.As[string](reads.Do(ctx, "GET", "key"))
	if err != nil {
		return err
	}
	return readByPolicies(ctx, cluster)
}

// readByPolicies shows each policy at its work.
func readByPolicies(ctx context.Context, cluster *rediscluster.Cluster) error {
	strict := redis.SyncCtx{S: cluster} // MasterOnly
	even := redis.SyncCtx{S: cluster.WithPolicy(rediscluster.MasterAndSlaves)}
	feeds := redis.SyncCtx{S: cluster.WithPolicy(rediscluster.PreferSlaves)}
	scripts := redis.SyncCtx{S: cluster.WithPolicy(rediscluster.ForceMasterAndSlaves)}
	reports := redis.SyncCtx{S: cluster.WithPolicy(rediscluster.ForcePreferSlaves)}

	for _, db := range []redis.SyncCtx{strict, even, feeds} {
		if err := redis.AsError(db.Do(ctx, "EXISTS", "key")); err != nil {
			return err
		}
	}
	for _, db := range []redis.SyncCtx{scripts, reports} {
		res := db.Do(ctx, "EVAL", "return redis.call('EXISTS', KEYS[1])", 1, "key")
		if err := redis.AsError(res); err != nil {
			return err
		}
	}
	return nil
}

func TestClusterExample(t *testing.T) {
	tb := testbed.NewCluster(t)
	if err := clusterOf(t.Context(), tb.Addrs()); err != nil {
		t.Fatal(err)
	}
}
