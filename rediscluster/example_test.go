package rediscluster_test

import (
	"context"
	"fmt"
	"log"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster"
)

func Example() {
	addrs, _, _ := exampleCluster() // host:port of some nodes
	ctx := context.Background()
	cluster, err := rediscluster.NewCluster(ctx, addrs, rediscluster.Opts{Logger: rediscluster.NoopLogger{}})
	if err != nil {
		log.Fatal(err)
	}
	defer cluster.Close()

	s := redis.SyncCtx{S: cluster}
	if err := redis.AsError(s.Do(ctx, "SET", "greeting", "hello")); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", s.Do(ctx, "GET", "greeting"))

	// The keys of a transaction must be in one slot. A common {hash tag} ensures that.
	res, err := s.SendTransaction(ctx, []redis.Request{
		redis.Req("INCR", "{user:7}:visits"),
		redis.Req("SET", "{user:7}:seen", "now"),
	})
	fmt.Println(res, err)

	// SendSplit sends a command with keys of several slots in parts.
	fmt.Println(rediscluster.SendSplit(ctx, cluster, redis.Req("MSET", "a", 1, "b", 2, "c", 3)))
	fmt.Printf("%s\n", rediscluster.SendSplit(ctx, cluster, redis.Req("MGET", "a", "b", "c")))

	// DoEachShard sends a command to every master.
	fmt.Println(rediscluster.DoEachShard(ctx, cluster, redis.Req("FLUSHALL")))
	// Output:
	// hello
	// [1 OK] <nil>
	// OK
	// [1 2 3]
	// [OK OK OK]
}

func ExampleParseURL() {
	addrs, opts, err := rediscluster.ParseURL("rediss://me:secret@node1:7000?addr=node2:7000&addr=node3:7000")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(addrs, opts.HostOpts.Username, opts.HostOpts.TLSEnabled)
	// Output: [node1:7000 node2:7000 node3:7000] me true
}
