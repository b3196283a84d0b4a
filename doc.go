// Package redispipe is a client for Redis, Sentinel and Redis Cluster with implicit
// pipelining: goroutines share one socket to each server, and the requests that they
// send at the same time go out in one write. Create one [Client] with [Open] and share it:
//
//	client, err := redispipe.Open(ctx, "redis://127.0.0.1:6379")
//	if err != nil {
//		return err
//	}
//	defer client.Close()
//	if err := redis.Err(client.Do(ctx, "SET", "key", "value")); err != nil {
//		return err
//	}
//	var value string
//	err = client.DoInto(ctx, &value, "GET", "key")
//
// The packages:
//
//	redis             requests, results, errors; scripts, streams, iterators, hooks
//	cmd               a function for each command, with its options and the type of its result
//	redisreply        the replies of commands such as XPENDING and INFO, as types
//	redisconn         one server: its options and events
//	rediscluster      a cluster, or a master with replicas; policies for reads
//	redispubsub       subscriptions that report which messages they may have missed
//	redisfailover     several databases, one of them active
//	redismirror       moving to another database while the program runs
//	rediscache        reads from memory, never older than your own writes
//	redisvirtual      the shared connection for libraries that need a go-redis client
//	redistest         a mock, a recorder and an in-memory server, for tests
//	testbed           real servers and clusters, for tests
//	redisdumb         a blocking Sender, for scripts and tests
//	contrib           separate modules: OpenTelemetry, Prometheus, tokens of cloud providers, recipes, stores of other libraries
//
// The guides are in docs: start with docs/README.md.
package redispipe
