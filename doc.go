// Package redispipe is a client for Redis and Redis Cluster that pipelines by
// itself: any number of goroutines share one socket, and what they send at the
// same time goes out in one write. This package holds no code. Begin with
// package redisconn for one server, or rediscluster for a cluster; both are
// used through the wrappers of package redis.
//
//	conn, err := redisconn.Connect(ctx, "127.0.0.1:6379", redisconn.Opts{})
//	if err != nil {
//		return err
//	}
//	defer conn.Close()
//	client := redis.SyncCtx{S: conn}
//	res := client.Do(ctx, "SET", "key", "value")
//	if err := redis.AsError(res); err != nil {
//		return err
//	}
//
// # Packages
//
//	redis             the contracts: Request, Future, Sender; errors; the codec;
//	                  the wrappers Sync, SyncCtx and ChanFutured
//	redisconn         a Sender for one server, over one socket
//	redispubsub       subscriptions that report what they have missed
//	rediscluster      a Sender for a cluster, over many connections of redisconn
//	redisclusterutil  (in rediscluster) slots of keys, parsers of CLUSTER SLOTS,
//	                  SHARDS, NODES and INFO
//	redisdumb         a blocking Sender, for scripts and tests
//	testbed           real servers, clusters and faulty networks, for tests
//
// Imports go one way: redis ← redisconn ← rediscluster.
//
// # Vocabulary
//
// On the way to the server:
//
//   - A request is a command's name and its arguments.
//   - A future takes the result of a request. It is resolved exactly once, with
//     a value or an error, by the goroutine that reads the socket.
//   - A sender takes requests with their futures, and does not block. Sync,
//     SyncCtx and ChanFutured wrap a sender and wait in the caller's stead.
//   - A batch is what goes out in one write: encoded requests, and the futures
//     that wait for their replies. The open batch takes requests.
//   - In flight is a batch that was taken to be written and is not answered.
//   - A transaction is a batch between MULTI and EXEC.
//
// On a connection:
//
//   - A connection outlives its sockets; it dials again when one breaks.
//   - A session is the life of one socket, from the handshake to its first error.
//   - The handshake is what a session says first: AUTH or HELLO, SELECT,
//     READONLY, PING.
//   - The heartbeat is a PING of a nonce, some times per Opts.IOTimeout.
//   - A fence is such a PING at the end of each batch, with Opts.Integrity.
//   - Not sent is a request of which no byte reached a write: it may be sent
//     again. See redis.ErrTraitNotSent.
//
// In a cluster:
//
//   - A slot is one of 16384 parts of the key space; CRC16 of a key, or of its
//     {hash tag}, tells the slot.
//   - A node is a server of the cluster; a shard is a master with its replicas.
//   - A link is one of the connections to a node.
//   - The topology is a snapshot that maps slots to shards; the refresher
//     replaces it.
//   - A redirect is MOVED (the slot lives elsewhere) or ASK (the key has moved
//     on already); both are followed.
//   - The policy of a request decides whether a replica may answer it.
package redispipe
