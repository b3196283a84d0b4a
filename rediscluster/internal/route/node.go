package route

import (
	"crypto/x509"
	"errors"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster/redisclusterutil"
	"github.com/joomcode/redispipe/redisconn"
)

// Rules are the options that all nodes of one cluster share.
type Rules struct {
	// Sharded is false without a cluster: one shard has all keys.
	Sharded bool
	// InTurn uses all connections of a node in turn instead of the first that is up.
	InTurn bool
	// Soonest sends reads to the node that answers soonest.
	Soonest atomic.Bool
	// Zone is the caller's availability zone, or empty. With AsksZone the client asks the servers for
	// their zones.
	Zone     string
	AsksZone bool
	// Watch notices nodes that have stopped answering.
	Watch Watch
	Moves Moves
	// Tolerance is how long the client keeps reading from a replica that has lost the link to its
	// master; negative: not at all.
	Tolerance time.Duration
	// Budget limits how many reads leave stalled links for another node. Hedge is the budget of
	// Opts.Hedge, for reads that leave earlier; it is nil without that option. Hedged counts the reads
	// that it let leave.
	Budget, Hedge *send.Budget
	Hedged        atomic.Uint64
	// chance ends when reads may leave one of the links. It is nil while nobody waits for that.
	chance atomic.Pointer[chance]
	// Withdrawn is called for each request that is withdrawn before it was written.
	Withdrawn func()
	// RenewPause is the least time for which new connections to a master are kept: see [Node.Outdated].
	RenewPause time.Duration
}

// Node is a server in one of the two roles, with its connections. A server that changes its
// role becomes another node: connections to replicas are READONLY, those to masters must
// not be.
type Node struct {
	Addr    string
	Replica bool
	// Hostname is the name that TLS verifies instead of the host of Addr; empty if no name was known
	// when the connections were opened.
	Hostname string
	// ByAddr is set if the node announces a hostname, but TLS verifies the host of Addr because the
	// certificate is not for the hostname.
	ByAddr bool
	Links  []*Link
	// Renewed is the time when the node replaced another node with the same address and role; zero if
	// it did not. Only the refresher uses it.
	Renewed time.Time
	// Refused is set when an error shows that a connection leads to a different server than Addr.
	// Without a cluster, the server has refused a write, as replicas do. In a cluster, it has redirected
	// a request to Addr itself.
	Refused atomic.Bool
	// Weight is the node's share of reads. The refresher sets it.
	Weight atomic.Uint64

	rules *Rules
	health
	// sync is the last known state of a replica's replication.
	sync atomic.Int32
	// lost is the time when the replica lost the link to its master, in nanoseconds since 1970; 0 while
	// it has the link.
	lost atomic.Int64
	// Local is set if the node is in the caller's zone.
	Local atomic.Bool
}

// NewNode returns a node without connections. zone is its availability zone, if that is
// known.
func (r *Rules) NewNode(addr string, replica bool, zone string) *Node {
	n := &Node{Addr: addr, Replica: replica, rules: r}
	n.Weight.Store(1)
	n.setZone(zone)
	return n
}

// Pick returns a link of the node: one that is up or, if there is none, one that is connecting. It
// returns avoid only if there is no other link, and nil if no link accepts requests.
func (n *Node) Pick(seed Seed, avoid *Link) *Link {
	number := uint32(0)
	if len(n.Links) > 1 && n.rules.InTurn {
		number = seed.Current()
	}
	return n.link(number, avoid)
}

// link is Pick with a number that the seed has returned.
func (n *Node) link(number uint32, avoid *Link) *Link {
	first := 0
	if len(n.Links) > 1 && n.rules.InTurn {
		first = int(number % uint32(len(n.Links)))
	}
	var waiting *Link
	for i := range n.Links {
		l := n.Links[(first+i)%len(n.Links)]
		switch state := l.state.Load(); {
		case l != avoid && state == linkUp:
			return l
		case state != linkDown && (waiting == nil || waiting == avoid):
			waiting = l
		}
	}
	return waiting
}

// upLink returns a link of the node that is up, or nil if there is none.
func (n *Node) upLink() *Link {
	for _, l := range n.Links {
		if l.Up() {
			return l
		}
	}
	return nil
}

// Up reports whether the node has a connection.
func (n *Node) Up() bool { return n.upLink() != nil }

// Failure returns why the node is not connected: the latest failure of its links, or nil if it is
// connected or none of them has failed.
func (n *Node) Failure() (latest *Failure) {
	for _, l := range n.Links {
		if l.Up() {
			return nil
		}
		latest = later(latest, l.failure.Load())
	}
	return latest
}

// Misnamed reports whether the node is not connected because its certificate is not for the name that
// TLS verifies.
func (n *Node) Misnamed() bool {
	failure := n.Failure()
	if failure == nil {
		return false
	}
	for err := failure.Err; err != nil; {
		var name x509.HostnameError
		if errors.As(err, &name) {
			return true
		}
		wrapped := errorx.Cast(err) // errors.As does not look into an opaque errorx error
		if wrapped == nil {
			return false
		}
		err = wrapped.Cause()
	}
	return false
}

// later returns the later one of two failures, which may be nil.
func later(a, b *Failure) *Failure {
	if a == nil || b != nil && b.at.After(a.at) {
		return b
	}
	return a
}

// connecting reports whether one of the node's connections is being opened.
func (n *Node) connecting() bool {
	return slices.ContainsFunc(n.Links, (*Link).Connecting)
}

// Latency returns the shortest round trip of the node's connections; 0 means unknown.
func (n *Node) Latency() time.Duration {
	var least time.Duration
	for _, l := range n.Links {
		if l.Up() {
			least = sooner(least, l.Conn.PingLatency())
		}
	}
	return least
}

// sooner returns the lesser of two latencies; 0 means unknown.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}

// Host is the node's address without the port.
func (n *Node) Host() string {
	host, _, _ := net.SplitHostPort(n.Addr)
	return host
}

// Readable reports whether the node is up. A replica must also have the link to its master, or have
// lost it no longer ago than Rules.Tolerance.
func (n *Node) Readable() bool { return n.readable(syncLive) }

// readable reports whether the node is up. The replication of a replica must also be in the state least
// or a better one.
func (n *Node) readable(least int32) bool {
	return n.Up() && (!n.Replica || n.sync.Load() >= least)
}

// The states of a replica's replication, from the worst to the best.
const (
	syncNever = iota // has no data yet, or its state is unknown: not read from
	syncLost         // has data but no link to its master: read from only if the master has failed or no better node is connected
	syncLive         // has the link, or has lost it no longer ago than Rules.Tolerance
)

// askSync asks a replica for the state of its replication. It does not wait for the answer.
func (n *Node) askSync(conn *redisconn.Connection) {
	conn.Send(redis.Req("INFO", "replication"), send.Internal(func(res any, _ uint64) {
		n.learnSync(res, time.Now())
	}), 0)
}

// learnSync records the answer to INFO replication. It never moves the time of a loss to a later one:
// a replica of a replica first reports that it hears nothing from the master, and later that its own
// link is cut.
func (n *Node) learnSync(res any, now time.Time) {
	state, silence := n.rules.syncState(res)
	if state != syncLost {
		n.lost.Store(0)
	} else {
		lost := now.Add(-silence)
		if before := n.lost.Load(); before != 0 && before < lost.UnixNano() {
			lost = time.Unix(0, before)
		}
		n.lost.Store(lost.UnixNano())
		if now.Sub(lost) <= n.rules.Tolerance {
			state = syncLive
		}
	}
	n.sync.Store(state)
}

// pingPeriods is how long a connected replica may hear nothing from its master: one and a half times
// the default of repl-ping-replica-period. A replica of a replica also gets the master's pings.
const pingPeriods = 15 * time.Second

// syncState parses the answer to INFO replication. If state is syncLost, silence is how long ago the
// replica lost the link.
func (r *Rules) syncState(res any) (state int32, silence time.Duration) {
	info, err := redisclusterutil.ParseInfo(res)
	seconds := func(field string) time.Duration {
		n, _ := strconv.ParseUint(info[field], 10, 31)
		return time.Duration(n) * time.Second
	}
	switch {
	case NotPermitted(err):
		return syncLive, 0 // the user may not ask, so assume that it is in sync
	case err != nil:
		return syncNever, 0
	case info["role"] == "master":
		return syncLive, 0
	case info["master_link_status"] == "up":
		// Without a cluster the replica's master may itself be a replica, and may have lost its own master.
		if silence = seconds("master_last_io_seconds_ago"); !r.Sharded && silence > pingPeriods {
			return syncLost, silence
		}
		return syncLive, 0
	case info["slave_repl_offset"] == "" || info["slave_repl_offset"] == "0" || info["master_sync_in_progress"] == "1":
		return syncNever, 0
	}
	return syncLost, seconds("master_link_down_since_seconds")
}

// NotPermitted reports whether err is a server's refusal because the user lacks the permission for a
// command or a key.
func NotPermitted(err error) bool {
	failure := redis.AsErrorx(err)
	return failure != nil && strings.HasPrefix(failure.Message(), "NOPERM")
}

// Outdated reports whether the node's connections must be replaced, for one of these reasons:
//
//   - No connection is up, and TLS must now verify a different hostname, or the certificate is not for
//     the name that TLS verified. hostname is empty if it is not known or there is no TLS.
//   - The node is a master, and a connection leads to a different server than new connections would:
//     Refused is set or, without a cluster, the server's run_id is not that in the layout.
//
// New connections are kept for at least RenewPause, so that an address that alternates between servers
// costs one dial in each pause.
func (n *Node) Outdated(server, hostname string) bool {
	switch {
	case time.Since(n.Renewed) < n.rules.RenewPause:
		return false
	case hostname != "" && !n.Up() && (hostname != n.Hostname && !n.ByAddr || n.Misnamed()):
		return true
	case n.Replica:
		return false
	}
	return n.Refused.Load() || server != "" && slices.ContainsFunc(n.Links, func(l *Link) bool {
		id := l.server.Load()
		return id != nil && *id != server
	})
}

// askServer asks the connection's server for its run_id and its zone, if they are needed. It does not
// wait for the answer.
func (l *Link) askServer(conn *redisconn.Connection) {
	rules := l.Node.rules
	names := !l.Node.Replica && !rules.Sharded
	if !names && !rules.AsksZone {
		return
	}
	conn.Send(redis.Req("INFO", "server"), send.Internal(func(res any, _ uint64) {
		info, err := redisclusterutil.ParseInfo(res)
		if err != nil {
			return
		}
		if id := info["run_id"]; names && id != "" {
			l.server.Store(&id)
		}
		if rules.AsksZone {
			l.Node.setZone(info["availability_zone"])
		}
	}), 0)
}

// isLocal reports whether the node is in the caller's zone.
func (n *Node) isLocal() bool { return n.Local.Load() }

// weighs reports whether the node has a share of reads.
func (n *Node) weighs() bool { return n.Weight.Load() > 0 }

// setZone records whether the node is in the caller's zone.
func (n *Node) setZone(zone string) { n.Local.Store(zone != "" && zone == n.rules.Zone) }

// LearnZone sets the node's zone to the one in a layout. It does nothing if the layout has none, or if
// the user provides the zones.
func (n *Node) LearnZone(zone string) {
	if zone != "" && n.rules.AsksZone {
		n.setZone(zone)
	}
}
