// Package rediscluster sends requests to a Redis Cluster: each to the node
// that serves the slot of its keys, over connections of package redisconn that
// all callers share.
//
//	cluster, err := rediscluster.NewCluster(ctx, []string{"10.0.0.1:7000", "10.0.0.2:7000"}, rediscluster.Opts{})
//	if err != nil {
//		return err
//	}
//	defer cluster.Close()
//	res := redis.SyncCtx{S: cluster}.Do(ctx, "SET", "key", "value")
//
// # The path of a request
//
//	Send → encode → route → link → redisconn → answer ────────────────► Future
//	                  ▲                           └► redirect ► decision
//	                  └──────────────── retrier ◄──────────────────┘
//
// An attempt keeps the request encoded, so that it can be sent again. Routing
// reads a topology, which is an immutable snapshot behind an atomic pointer: no
// lock, no map. After an error the pure function redirect decides, and the
// retrier does it, for single requests and transactions alike. The refresher is the
// only goroutine that replaces the topology. It asks the nodes, of contradicting
// answers takes the one of the greater configuration epoch, and does so each
// Opts.CheckInterval, and soon after a redirect or a lost connection.
//
// # What is repeated
//
//   - MOVED and ASK are followed, up to Opts.MovedRetries times, to nodes that
//     the cluster itself names; a redirect alone makes nobody a node.
//   - TRYAGAIN is waited for: the keys are on both sides of a migration.
//   - What was not sent (trait redis.ErrTraitNotSent) and what the server has
//     refused to run for a reason that passes (CLUSTERDOWN, LOADING, READONLY
//     on a replica, MASTERDOWN) is sent again, after pauses that grow, for some
//     200 ms.
//   - A read of which it is not known whether it ran (redis.ErrIO) is sent
//     again. A write is not, and neither is a transaction.
//
// # Without a cluster
//
// NewSentinel and NewReplicated make a Cluster of a master with replicas: one that
// sentinels watch, or whose addresses are given. It has one shard, and what is said
// below of slots does not apply. The topology comes from the sentinels, of which the
// one that tells the greatest config-epoch counts, or from the servers' own answers to
// ROLE. Nothing is sent to a server before it has said that it is what it is taken for,
// nor to a former master from the moment when another is known.
//
// # Keys
//
// All keys of a request, and of a transaction, have to be of one slot; give
// them a common {hash tag}. Otherwise the result is redis.ErrNoSlotKey, and
// nothing is sent. SendSplit splits MGET, MSET, DEL, UNLINK, EXISTS and TOUCH.
// Requests without keys go to any master, but for those that concern every
// shard or one particular node: see DoEachShard, EachShard and Scanner.
//
// # Replicas
//
// Cluster.WithPolicy returns a Sender that reads from replicas:
//
//	reads := redis.SyncCtx{S: cluster.WithPolicy(rediscluster.PreferSlaves)}
//
// A replica is read from while its link to its master is up. One whose link is
// down is read from only if its master is not connected either; one that has
// never synced, never. Slots that are on the move, and those in the set
// redisclusterutil.MasterOnlyKey, are read from their masters. With Opts.Zone, nodes of
// the caller's availability zone are read from as long as there are any.
package rediscluster
