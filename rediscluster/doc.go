// Package rediscluster sends requests to a Redis Cluster: each request goes to the node
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
// An attempt keeps the encoded request, so that it can be sent again. Routing reads the
// topology, an immutable snapshot behind an atomic pointer, without a lock or a map.
// After an error a pure function (redirect) decides what to do, and the retrier does it,
// for single requests and for transactions. The refresher is the only goroutine that
// replaces the topology: it asks the nodes every Opts.CheckInterval, and soon after a redirect or
// a lost connection. If their answers contradict each other, the one with the
// greater configuration epoch wins.
//
// # Retries
//
//   - The cluster follows MOVED and ASK up to Opts.MovedRetries times, and only to nodes
//     in the topology. A redirect alone does not make an address a node.
//   - After TRYAGAIN, which means that keys are on both sides of a migration, the cluster retries
//     after Opts.WaitToMigrate, up to 50 times.
//   - The cluster retries a request that was not sent (trait [redis.ErrTraitNotSent]),
//     or that the server refused for a temporary reason (LOADING, READONLY on a
//     replica, MASTERDOWN): up to 8 times within 1 s, after pauses that grow, about
//     200 ms in all. After CLUSTERDOWN it retries until 1 s has passed, because
//     a node may not know the new owner of a slot for that long when masters hand over.
//   - It retries a read that may have run ([redis.ErrIO]) in the same way. It never retries
//     a write or a transaction that may have run.
//   - A request that a node's queue refuses ([redis.ErrOverloaded], [redis.ErrQueueFull]) goes to
//     another node that may answer it, twice at most.
//   - At most 65,536 requests of a cluster wait for a retry at the same time. Beyond that, a
//     request that would have to wait fails with the error of its last attempt.
//
// # Without a cluster
//
// [NewSentinel] and [NewReplicated] return a [Cluster] for a master with replicas that sentinels
// watch, or whose addresses you give. It has one shard, and the rules
// about slots below do not apply. The topology comes from the sentinel with the greatest
// config-epoch, or from the servers' own answers to ROLE.
// The client sends no request to a server before it has confirmed its role, nor to a former
// master once it knows another master.
//
// # Keys
//
// All keys of a request, and of a transaction, must be in one slot; give
// them a common {hash tag}. Otherwise the cluster sends nothing, and the result is
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
// The cluster reads from a replica while the replica's link to its master is up, for
// Opts.ReplicaLinkDownTolerance after that, and while CLUSTER NODES reports that the master has failed.
// Later it reads from the replica only if no other node of the shard is connected and in sync. It never
// reads from a replica that has not synced yet. Reads of slots in the set
// [redisclusterutil.MasterOnlyKey] go to the masters. So do reads of a moving slot, as soon as a
// request gets ASK or TRYAGAIN or the topology shows the move. With Opts.Zone, reads go to nodes of
// the caller's availability zone as long as one of them is connected and in sync.
//
// The guides are docs/cluster.md, docs/sentinel.md and docs/options.md.
package rediscluster

// For maintainers: how a cluster works.
//
// An immutable snapshot (internal/route) routes each request: slot → shard → node → link, by array
// indexes. Requests read it through an atomic pointer, without a lock or a map. One goroutine
// (refresh.go) creates new snapshots: it polls up to 16 nodes, masters first (nodesource.go), and
// merges the answers of those that belong to the cluster. When claims on a slot contradict each
// other, the greater configuration epoch wins. A master and a replica at the same address are two
// nodes, because READONLY belongs to the connection.
//
// Addresses change hands, so the client remembers the identities of the servers: node IDs
// (topology.Kin), IDs of sentinels (topology.Reports), histories of the servers in a list
// (topology.Lineage). It ignores other servers while a known one is left.
//
// Package topology imports no connection: it computes layouts (the addresses that serve each slot)
// from the servers' answers. Package route has the nodes with their connections, and chooses one
// for each request. A snapshot is a layout with connections: its nodes have the same indexes as in
// the layout.
//
// One function decides what to do after an error (redirect: error, tries so far,
// nature of the request, limits → decision). One file does it (retrier.go) for
// everything that can be sent again: single requests (attempt), parts of SendMany,
// transactions. All of them stay encoded. retrier.enter counts each of them before it checks whether
// Shutdown has started; retrier.leave ends the count when the request is resolved. If the outcome of
// one attempt is unknown, the request never ends as not sent, even if a later attempt was not sent.
// Credentials go to nodes that the topology names, and never to an address that only a redirect named.
//
// Layouts come from a source (source.go): the nodes of a cluster (nodesource.go),
// sentinels (sentinel.go), or the servers of a list (replicated.go). The refresher asks
// the source and builds topologies from its answers; nothing else knows the source. Without a
// cluster the layout has one shard for all slots, and route.Rules.Sharded is false. Then
// all keys count as one slot, and every handshake sends ROLE. A node that has left may
// continue as a master, so the client sends nothing to it from that moment on (closeSoon).
//
// Each sentinel has two goroutines: one listens to its events, and the other asks it after
// each event. topology.Reports builds a layout from the last answers of all sentinels. A
// sentinel that leads a failover announces +promoted-slave as soon as there is a new
// master, and +switch-master only when the other replicas follow it, so every event is only
// a reason to ask. The client asks for the address before and after the epoch, because the address
// changes after the epoch.
//
// topology.ServerInfos hold the servers' reports about themselves. If several servers claim to be the
// master, topology.ServerInfos.Layout decides between them. From Redis 7.0 on, a master that was
// restarted from a dump also has a master_replid2, as if it had been promoted. So the client trusts a
// history only if nothing was written outside of it, and if the server is not known to have been
// restarted. The layout also has the id of the master's run. If a connection leads to another run, or
// a server has refused a write on it, a node with new connections replaces the master's node
// (Node.Outdated), and the old connections end like those of a node that has left.
//
// When a node has left, its links are closed once their requests are answered
// (shutdown.go), but not within 100 ms, so that callers which have read the old
// snapshot can still send. Without a cluster these links accept nothing more (closeSoon): unwritten
// requests are withdrawn (StopWrites) and go to the new master, like the requests of callers that have
// read the old snapshot.
//
// A scan walks the masters, and records which slots it has covered (topology.Coverage). It asks
// each master for its slots before and after the walk. If the master did not have a slot all the time,
// the scan walks that slot again, on the node that then has it, and returns only its keys.
//
// In a cluster the connection of a user's session is a sessionConn, whose node the
// retrier chooses, so sessions wait for a node as requests do. It follows redirects until
// a request gets another answer, because until then the connection has no state to lose.
// A later redirect makes redis.Watch start again.
//
// The client asks nodes CLUSTER SLOTS and CLUSTER NODES, not CLUSTER SHARDS, which has neither
// epochs nor migrations.
