// Package redispipe is a client for Redis and Redis Cluster with implicit
// pipelining: any number of goroutines share one socket, and requests that they
// send at the same time go out in one write. This package holds no code. Begin
// with package redisconn for one server, or rediscluster for a cluster; both
// are used through the wrappers of package redis.
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
//	rediscluster      a Sender for a cluster, or for a master with replicas, over
//	                  many connections of redisconn
//	redisclusterutil  (in rediscluster) slots of keys, parsers of CLUSTER SLOTS,
//	                  NODES and INFO
//	redispubsub       subscriptions that report which messages they may have missed
//	redisdumb         a blocking Sender, for scripts and tests
//	redistest         a mock, a recorder and a server in memory, for tests
//	testbed           real servers, clusters and faulty networks, for tests
//	contrib           modules of their own: OpenTelemetry and Prometheus
//
// Imports go one way: redis ← redisconn ← rediscluster. The guides are in docs: begin with
// docs/README.md.
//
// # Vocabulary
//
// On the way to the server:
//
//   - A request is a command's name and its arguments.
//   - A future takes the result of a request. It is resolved exactly once, with
//     a value or an error, in any goroutine: mostly in the one that reads the
//     socket, but that of Send if the request is refused.
//   - A sender takes requests with their futures, and does not block. Sync,
//     SyncCtx and ChanFutured wrap a sender and wait for results.
//   - A batch goes out in one write: encoded requests, and the futures that wait
//     for their replies. The open batch is the one that accepts requests.
//   - A batch is in flight from when it is taken to be written until it is
//     answered.
//   - A transaction is a batch between MULTI and EXEC.
//
// On a connection:
//
//   - A connection outlives its sockets; it dials again when one breaks.
//   - A session is the life of one socket, from the handshake to its first error.
//   - The handshake is the first requests of a session: AUTH or HELLO, SELECT,
//     READONLY, PING.
//   - The heartbeat is a PING of a nonce, three times per Opts.IOTimeout.
//   - A fence is such a PING at the end of each batch, with Opts.Integrity.
//   - A request is not sent if no byte of it reached a write: it may be sent
//     again. See redis.ErrTraitNotSent.
//
// In a cluster:
//
//   - A slot is one of 16384 parts of the key space: the CRC16 of a key, or of
//     its {hash tag}, modulo 16384.
//   - A node is a server of the cluster; a shard is a master with its replicas.
//   - A link is one of the connections to a node.
//   - The topology is a snapshot that maps slots to shards; the refresher
//     replaces it.
//   - A redirect is MOVED (another node has the slot) or ASK (the key has
//     already been moved to another node); both are followed.
//   - The policy of a request decides whether a replica may answer it.
package redispipe
