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
// An attempt keeps the request encoded, so that it can be sent again. Routing reads the
// topology, an immutable snapshot behind an atomic pointer, without a lock or a map.
// After an error a pure function (redirect) decides what to do, and the retrier does it,
// for single requests and transactions alike. The refresher is the only goroutine that
// replaces the topology: every Opts.CheckInterval, and soon after a redirect or a lost
// connection, it asks the nodes. If their answers contradict each other, the one with the
// greater configuration epoch counts.
//
// # What is sent again
//
//   - MOVED and ASK are followed, up to Opts.MovedRetries times, to nodes that
//     the topology has. A redirect alone does not make an address a node.
//   - After TRYAGAIN, when keys are on both sides of a migration, the request is
//     repeated after Opts.WaitToMigrate, up to 50 times.
//   - A request is sent again if it was not sent (trait [redis.ErrTraitNotSent]),
//     or if the server refused it for a reason that passes (LOADING, READONLY on a
//     replica, MASTERDOWN): up to 8 times within 1 s, after pauses that grow, some
//     200 ms in all. After CLUSTERDOWN it is sent again until 1 s has passed: when
//     masters hand over, a node may not know the new owner of a slot for that long.
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
// that has never synced is not read from. Slots in the set [redisclusterutil.MasterOnlyKey] are
// read from their masters, and so are slots on the move, from when a request has met ASK or TRYAGAIN
// or the topology has shown it. With Opts.Zone, reads go to nodes of the caller's availability zone
// as long as there are any.
//
// The guides are docs/cluster.md, docs/sentinel.md and docs/options.md.
package rediscluster

// For maintainers: how a cluster works.
//
// Requests are routed by an immutable snapshot (internal/route), which they read through
// an atomic pointer: slot → shard → node → link, by array indexes, without a lock or a
// map. One goroutine (refresh.go) makes new snapshots: it polls up to 16 nodes, masters
// first (nodesource.go), and merges their answers (topology.Merge). When claims on a slot
// contradict each other, the greater configuration epoch wins. A master and a replica at
// the same address are two nodes, because READONLY belongs to the connection.
//
// What is decided, and not done, is in internal/topology, which imports no connection:
// layouts (who serves what, by addresses) and what they follow from, and what becomes of a
// request after an error. What a node and its connections are, and which of them a request
// gets, is in internal/route. A snapshot is a layout with connections: its nodes stand at
// the places that they have in the layout.
//
// One function decides what to do after an error (topology.Redirect: error, tries so far,
// whether it is idempotent, limits → decision). One place does it (retrier.go) for
// everything that can be sent again: single requests (attempt), parts of SendMany,
// transactions. All of them stay encoded. retrier.enter counts each of them, until it is
// resolved, before it checks whether Shutdown has begun. If one attempt ended as unknown,
// the request does not end as not sent, even if a later attempt does. Credentials go to
// nodes that the topology names, and never to an address that only a redirect named.
//
// Layouts come from a source (source.go): the nodes of a cluster (nodesource.go),
// sentinels (sentinel.go), or the servers of a list (replicated.go). The refresher asks
// the source and makes topologies of its answers; nothing else knows the source. Without a
// cluster the layout has one shard for all slots, and route.Rules.Sharded is false. Then
// all keys count as of one slot, and every handshake asks ROLE. A node that has left may
// go on as a master, so nothing is sent to it from that moment on (closeSoon).
//
// Each sentinel has two goroutines: one listens to its events, and the other asks it after
// each event. topology.Reports makes a layout of the last answers of all sentinels. A
// sentinel that leads a failover announces +promoted-slave as soon as there is a new
// master, and +switch-master only when the other replicas follow it, so any event is just
// a reason to ask. The address is asked for before and after the epoch, since it changes
// after the epoch does.
//
// topology.ServerInfos hold what the servers of a list say of themselves. The layout that they
// make says which of several masters counts. From Redis 7.0 on, a master that was restarted from
// a dump has a master_replid2, too, as if it had been promoted. So a history is trusted only if
// nothing was written outside of it, and if the server is not known to have been restarted. The
// layout also has the id of the master's run. If a connection leads to another run, or has
// refused a write, the master's node is replaced by one with new connections (Node.Outdated), and
// the old ones end like those of a node that has left.
//
// The links of a node that has left are closed when their requests are answered
// (shutdown.go), 100 ms later at the earliest, so that callers who have read the old
// snapshot can still send. Without a cluster they take nothing more (closeSoon): what is
// not written is taken back (StopWrites of internal/pipe) and goes to the new master, and
// so does what those callers send.
//
// A scan walks the masters, and notes which slots it has covered (topology.Coverage). Each master
// is asked for its slots before and after its walk. Slots that it did not have all the time are
// walked again, on the node that has them then, and only their keys are returned.
//
// In a cluster the connection of a user's session is a sessionConn, whose node the
// retrier chooses, so sessions wait for a node as requests do. It follows redirects until
// a request gets another answer, since until then the connection has no state that could
// be lost. After a later redirect Watch begins again.
//
// Nodes are asked CLUSTER SLOTS and CLUSTER NODES, not CLUSTER SHARDS, which has neither
// epochs nor migrations.
