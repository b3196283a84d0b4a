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
// reads the topology, an immutable snapshot behind an atomic pointer, without a
// lock or a map. After an error a pure function (redirect) decides what to do,
// and the retrier does it, for single requests and transactions alike. The
// refresher is the only goroutine that replaces the topology: every
// Opts.CheckInterval, and soon after a redirect or a lost connection, it asks the
// nodes. If their answers contradict each other, the greater configuration epoch
// wins.
//
// # What is sent again
//
//   - MOVED and ASK are followed, up to Opts.MovedRetries times, to nodes that
//     the topology has. A redirect alone does not make an address a node.
//   - After TRYAGAIN, when keys are on both sides of a migration, the request is
//     repeated after Opts.WaitToMigrate, up to 50 times.
//   - A request is sent again if it was not sent (trait [redis.ErrTraitNotSent]),
//     or if the server refused it for a reason that passes (CLUSTERDOWN, LOADING,
//     READONLY on a replica, MASTERDOWN): up to 8 times within 1 s, after pauses
//     that grow, some 200 ms in all.
//   - A read that may have run ([redis.ErrIO]) is sent again in the same way. A
//     write is not, and neither is a transaction.
//   - Up to 65,536 requests of a cluster wait at a time to be sent again. The next one
//     ends with its error instead.
//
// # Without a cluster
//
// [NewSentinel] and [NewReplicated] make a [Cluster] of a master with replicas: one
// that sentinels watch, or whose addresses are given. It has one shard, and the rules
// about slots below do not apply. The topology comes from the sentinels, of which the
// one with the greatest config-epoch counts, or from the servers' own answers to ROLE.
// Nothing is sent to a server before it has confirmed its role, nor to a former
// master once another master is known.
//
// # Keys
//
// All keys of a request, and of a transaction, have to be of one slot; give
// them a common {hash tag}. Otherwise nothing is sent, and the result is
// [redis.ErrNoSlotKey]. [SendSplit] splits MGET, MSET, DEL, UNLINK, EXISTS and
// TOUCH. Requests without keys go to any master. For commands that concern every
// shard, see [DoEachShard], [Cluster.EachShard] and [Cluster.Scanner].
//
// # Replicas
//
// [Cluster.WithPolicy] returns a Sender that reads from replicas:
//
//	reads := redis.SyncCtx{S: cluster.WithPolicy(rediscluster.PreferSlaves)}
//
// A replica is read from while its link to its master is up. If the link is down,
// it is read from only if the client is not connected to the master either. A replica
// that has never synced is not read from. Slots on the move, and those in the set
// [redisclusterutil.MasterOnlyKey], are read from their masters. With Opts.Zone, reads
// go to nodes of the caller's availability zone as long as there are any.
//
// The guides are docs/cluster.md, docs/sentinel.md and docs/options.md.
package rediscluster
