package rediscluster

import (
	"cmp"
	"context"
	"crypto/tls"
	"reflect"
	"time"

	"github.com/joomcode/redispipe/redisconn"
)

// Opts are the options of a Cluster. The zero value is fit for production. The cluster corrects
// an option that is out of its bounds, and reports a LogOptCorrected.
type Opts struct {
	// HostOpts are the options of each connection. The cluster itself sets AsyncDial,
	// ReadOnly, Handle and Logger. In a cluster, a DB other than 0 needs servers that have
	// several databases there: Valkey 9 with cluster-databases. Other servers refuse SELECT, and then
	// [NewCluster] fails. ReconnectPause defaults to 200 ms and ReconnectPauseMax to
	// 500 ms here, so that a node that comes back is soon in use.
	HostOpts redisconn.Opts
	// ConnsPerHost is the number of connections to each node, at least 1. Default 2.
	ConnsPerHost int
	// ConnHostPolicy chooses the connection to a node for a request. Default
	// ConnHostPreferFirst.
	ConnHostPolicy ConnHostPolicyEnum

	// Name is used in logs and errors. Default: the first address.
	Name string
	// Handle is any value; [Cluster.Handle] returns it.
	Handle any
	// Logger gets events and statistics. Default DefaultLogger.
	Logger Logger

	// CheckInterval is how often the cluster reads the topology, in addition to after failures
	// and redirects. Default 5 s, from 100 ms to 10 min.
	CheckInterval time.Duration
	// MovedRetries is the number of redirects (MOVED and ASK) that a request follows; the next
	// one is its result. Default 3, from 1 to 10.
	MovedRetries int
	// WaitToMigrate is the pause before the cluster retries a request after TRYAGAIN, which means
	// that its keys are on both sides of a migration. It retries up to 50 times. Default 20
	// ms, from 100 µs to 1 s.
	WaitToMigrate time.Duration

	// ReplicaLinkDownTolerance is how long the cluster keeps reading from a replica whose link to its
	// master is down. While CLUSTER NODES reports that the master has failed, it keeps reading for
	// longer. After that it reads from the replica only while no other node of the shard is connected
	// and in sync. It never reads from a replica that has not synced yet. Default 60 s; negative: no
	// tolerance. The cluster asks the replicas whenever it reads the topology.
	ReplicaLinkDownTolerance time.Duration

	// SentinelOpts are the options of connections to sentinels, for [NewSentinel],
	// which itself sets Protocol, DB and Logger. User, password and TLS are separate from
	// those of HostOpts. IOTimeout defaults to that of HostOpts.
	SentinelOpts redisconn.Opts
	// Addrs, for [NewReplicated], returns the addresses (host:port) of the servers, and
	// replaces the list that NewReplicated got. The client calls it each time before it asks the
	// servers, with a context that ends after IOTimeout, and not again before it has
	// returned. If it fails, panics, does not return in time, or returns no address or a
	// URL, the last addresses stay in use.
	Addrs func(ctx context.Context) ([]string, error)
	// StopOnManyMasters, for [NewReplicated], stops writes while several servers are
	// masters and neither their replicas nor their histories decide between them:
	// requests that need a master fail with [ErrNoAliveConnection], not sent. Default
	// false: the present master stays in use while it answers, but if another server has been
	// promoted, that server lacks the writes since then. With either value, a server that does not
	// answer within HostOpts.IOTimeout, or HostOpts.DialTimeout if that is longer, does not count as
	// a master.
	StopOnManyMasters bool

	// RefuseStrangers keeps the client with the servers that it knows, even if none of them answers and
	// the given addresses now lead to unrelated servers: servers that share no node ID, no sentinel and
	// no history with the known ones. Requests fail with [ErrNoAliveConnection], not sent, until a known
	// server answers. Default false: after 10 s without an answer the client switches to the other
	// servers, and reports [LogFollowsStrangers].
	RefuseStrangers bool

	// RoundRobinSeed drives the choice among replicas and connections. Default
	// [DefaultRoundRobinSeed].
	RoundRobinSeed RoundRobinSeed
	// LatencyOrientedRR gives nodes that answer sooner a greater share of reads. Default
	// false.
	LatencyOrientedRR bool
	// ForceMinLatencyReplica sends the reads that a replica may answer to the node that
	// answers soonest; weights then have no effect. Default false.
	ForceMinLatencyReplica bool
	// Hedge makes the cluster give up on a slow node earlier, for reads that a replica may answer. It
	// sends such a read to a second node when nothing has come over the first connection for four usual
	// round trips (at least 1 ms); without Hedge it waits for 10 ms. The first node's answer is dropped.
	// At most 2 % of the requests, and 50 more at the start, are sent twice. Only reads whose callers wait
	// are hedged. The reads of one SendMany are hedged together, when no other request of the call is
	// pending. Without a policy that reads from replicas, Hedge has no effect. Default false.
	Hedge bool
	// Zone is the caller's availability zone. Reads that a replica may answer go to
	// nodes of this zone, replicas or the master, while at least one is connected and
	// in sync, and otherwise to all nodes. Policy, weights and latency decide the share
	// of each node. A node of weight zero is not used while a node of any zone has a weight above zero,
	// unless ForceMinLatencyReplica is set. Default none.
	Zone string
	// ZoneOf returns the zone of a node by its address (host:port), for servers that do
	// not know their zone. It is called once for each node. The client waits at most 1 s for the zones
	// of all new nodes of a topology; a zone that is not known by then stays unknown. Default:
	// the zone that the server reports to a new connection (availability_zone in
	// INFO server, from Valkey 8.1 on), or in CLUSTER SLOTS (from Valkey 9.1 on).
	ZoneOf func(addr string) string
	// WeightProvider sets the nodes' shares of reads. A node of weight zero is not used, even in
	// the caller's zone, while another node has a weight above zero. A weight that is
	// not known in time is 1. Default equal weights.
	WeightProvider WeightProvider

	// TLSEnabled and TLSConfig override those of HostOpts if they are set. An empty
	// ServerName means the node's hostname, if the node announces one or its address
	// has one, and otherwise its IP.
	TLSEnabled bool
	TLSConfig  *tls.Config
}

const (
	defaultConnsPerHost = 2

	// hedgeShare limits Opts.Hedge: one read in hedgeShare requests may leave a slow node early.
	hedgeShare = 50

	defaultCheckInterval = 5 * time.Second
	minCheckInterval     = 100 * time.Millisecond
	maxCheckInterval     = 10 * time.Minute

	defaultMovedRetries = 3
	maxMovedRetries     = 10

	defaultWaitToMigrate = 20 * time.Millisecond
	minWaitToMigrate     = 100 * time.Microsecond
	// While a request waits, it does not notice Close.
	maxWaitToMigrate = time.Second

	defaultReplicaLinkDownTolerance = time.Minute

	defaultReconnectPause = 200 * time.Millisecond
	// The cluster reaches a node within about this time after it has come back. The dials of many
	// clients are spread over this time.
	defaultReconnectPauseMax = 500 * time.Millisecond
)

// withDefaults returns the options with defaults filled in and bounds enforced.
func (o Opts) withDefaults() Opts {
	if o.ConnsPerHost < 1 {
		o.ConnsPerHost = defaultConnsPerHost
	}
	o.CheckInterval = bounded(o.CheckInterval, defaultCheckInterval, minCheckInterval, maxCheckInterval)
	o.MovedRetries = bounded(o.MovedRetries, defaultMovedRetries, 1, maxMovedRetries)
	o.WaitToMigrate = bounded(o.WaitToMigrate, defaultWaitToMigrate, minWaitToMigrate, maxWaitToMigrate)
	o.ReplicaLinkDownTolerance = max(cmp.Or(o.ReplicaLinkDownTolerance, defaultReplicaLinkDownTolerance), -1)
	o.RoundRobinSeed = cmp.Or[RoundRobinSeed](o.RoundRobinSeed, DefaultRoundRobinSeed())
	o.Logger = cmp.Or[Logger](o.Logger, DefaultLogger{})
	o.HostOpts.TLSEnabled = o.HostOpts.TLSEnabled || o.TLSEnabled
	o.HostOpts.TLSConfig = cmp.Or(o.TLSConfig, o.HostOpts.TLSConfig)
	o.HostOpts.AsyncDial, o.HostOpts.ReadOnly = false, false
	if o.HostOpts.ReconnectPause <= 0 {
		o.HostOpts.ReconnectPause = defaultReconnectPause
	}
	if o.HostOpts.ReconnectPauseMax <= 0 {
		o.HostOpts.ReconnectPauseMax = max(defaultReconnectPauseMax, o.HostOpts.ReconnectPause)
	}
	o.SentinelOpts.ReconnectPause = max(o.SentinelOpts.ReconnectPause, 0)
	return o
}

// corrections lists the given options that withDefaults has changed.
func corrections(given, used Opts) (list []LogOptCorrected) {
	for _, c := range []LogOptCorrected{
		{"ConnsPerHost", given.ConnsPerHost, used.ConnsPerHost},
		{"CheckInterval", given.CheckInterval, used.CheckInterval},
		{"MovedRetries", given.MovedRetries, used.MovedRetries},
		{"WaitToMigrate", given.WaitToMigrate, used.WaitToMigrate},
		{"HostOpts.AsyncDial", given.HostOpts.AsyncDial, used.HostOpts.AsyncDial},
		{"HostOpts.ReadOnly", given.HostOpts.ReadOnly, used.HostOpts.ReadOnly},
		{"HostOpts.ReconnectPause", given.HostOpts.ReconnectPause, used.HostOpts.ReconnectPause},
		{"SentinelOpts.ReconnectPause", given.SentinelOpts.ReconnectPause, used.SentinelOpts.ReconnectPause},
	} {
		if c.Given != c.Used && !reflect.ValueOf(c.Given).IsZero() {
			list = append(list, c)
		}
	}
	return list
}

// bounded returns v limited to its bounds, or the default if v is zero or less.
func bounded[T int | time.Duration](v, def, least, most T) T {
	if v <= 0 {
		return def
	}
	return min(max(v, least), most)
}
