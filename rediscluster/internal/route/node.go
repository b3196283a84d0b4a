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

// Rules are what the nodes of one cluster have in common.
type Rules struct {
	// Sharded is false without a cluster: one shard has all keys.
	Sharded bool
	// InTurn uses all connections of a node in turn, and not the first that is up.
	InTurn bool
	// Soonest sends reads to the node that answers soonest.
	Soonest atomic.Bool
	// Zone is the caller's availability zone, or empty. With AsksZone the servers tell
	// theirs.
	Zone     string
	AsksZone bool
	// Moves are the slots on the move.
	Moves Moves
	// Tolerance is for how long a replica may have lost the link to its master; negative: it must
	// not.
	Tolerance time.Duration
	// Withdrawn is called for each request that is taken back before it was written.
	Withdrawn func()
	// RenewPause is how long new connections to a master are kept, whatever is known of
	// them: see [Node.Outdated].
	RenewPause time.Duration
}

// Node is a server in one of the two roles, with its connections. A server that changes its
// role becomes another node: connections to replicas are READONLY, those to masters must
// not be.
type Node struct {
	Addr    string
	Replica bool
	// Hostname is what TLS verifies instead of the host of Addr; empty if it was not known when the
	// connections were made.
	Hostname string
	// ByAddr is set if the node announces a hostname, and TLS verifies the host of Addr all the same: the
	// certificate is not for the hostname.
	ByAddr bool
	Links  []*Link
	// Renewed is when the node took the place of another of its address and role; zero if it did
	// not. Only the refresher uses it.
	Renewed time.Time
	// Refused is set once a connection has refused a request as one to another server does: without
	// a cluster a write, as a replica would; in a cluster any, by a redirect to the node's own address.
	Refused atomic.Bool
	// Weight is the node's share in reads, set by the refresher.
	Weight atomic.Uint64

	rules *Rules
	// sync is what a replica last said of its replication.
	sync atomic.Int32
	// lost is when it lost its master, in nanoseconds since 1970; 0 while it has it.
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

// Pick returns a link of the node: one that is up, then one that is connecting;
// avoid only if there is no other. It returns nil if none accepts requests.
func (n *Node) Pick(seed Seed, avoid *Link) *Link {
	number := uint32(0)
	if len(n.Links) > 1 && n.rules.InTurn {
		number = seed.Current()
	}
	return n.link(number, avoid)
}

// link is Pick with a number of the seed.
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

// upLink returns a link of the node that is up, nil if there is none.
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

// Failure returns why the node is not connected: the latest failure of its links, nil if it is connected, or
// none of them has failed.
func (n *Node) Failure() (latest *Failure) {
	for _, l := range n.Links {
		if l.Up() {
			return nil
		}
		latest = later(latest, l.failure.Load())
	}
	return latest
}

// Misnamed reports whether the node is not connected since its certificate is not for the name that was
// verified.
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
		wrapped := errorx.Cast(err) // which errors.As does not look into
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

// connecting reports whether one of the node's connections is being made.
func (n *Node) connecting() bool {
	return slices.ContainsFunc(n.Links, (*Link).Connecting)
}

// Latency is the least round trip of the node's connections; 0 is unknown.
func (n *Node) Latency() time.Duration {
	var least time.Duration
	for _, l := range n.Links {
		if l.Up() {
			least = sooner(least, l.Conn.PingLatency())
		}
	}
	return least
}

// sooner returns the lesser of two latencies of which 0 is unknown.
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

// Readable reports whether the node is up and, if it is a replica, has the link to its
// master, or has lost it for no longer than is tolerated.
func (n *Node) Readable() bool { return n.readable(syncLive) }

// readable reports whether the node is up and, if it is a replica, in at least that state of
// its replication.
func (n *Node) readable(least int32) bool {
	return n.Up() && (!n.Replica || n.sync.Load() >= least)
}

// What servers tell by INFO: how their replication goes, which run of the server it is, in
// which zone they are.

// What a replica says of its replication.
const (
	syncNever = iota // or unknown: not read from
	syncLost         // it has data, but no link to its master: read from if that has failed, or nobody else is there
	syncLive         // it has the link, or lost it not long ago
)

// askSync asks a replica how its replication goes. It does not wait for the answer.
func (n *Node) askSync(conn *redisconn.Connection) {
	conn.Send(redis.Req("INFO", "replication"), send.Internal(func(res any, _ uint64) {
		n.learnSync(res, time.Now())
	}), 0)
}

// learnSync takes in the answer to INFO replication. When the link of a replica of a replica is cut,
// because that one has lost the master, the master was lost before.
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

// pingPeriods is how long a replica that has its master may hear nothing of it: the default of
// repl-ping-replica-period, and half of it. A replica of a replica hears the master's pings, too.
const pingPeriods = 15 * time.Second

// syncState takes apart the answer to INFO replication. If it is syncLost, silence is for how long.
func (r *Rules) syncState(res any) (state int32, silence time.Duration) {
	info, err := redisclusterutil.ParseInfo(res)
	seconds := func(field string) time.Duration {
		n, _ := strconv.ParseUint(info[field], 10, 31)
		return time.Duration(n) * time.Second
	}
	switch {
	case NotPermitted(err):
		return syncLive, 0 // nothing is known of it, as the user may not ask
	case err != nil:
		return syncNever, 0
	case info["role"] == "master":
		return syncLive, 0
	case info["master_link_status"] == "up":
		// Only without a cluster may its master be a replica, which has lost its own.
		if silence = seconds("master_last_io_seconds_ago"); !r.Sharded && silence > pingPeriods {
			return syncLost, silence
		}
		return syncLive, 0
	case info["slave_repl_offset"] == "" || info["slave_repl_offset"] == "0" || info["master_sync_in_progress"] == "1":
		return syncNever, 0
	}
	return syncLost, seconds("master_link_down_since_seconds")
}

// NotPermitted reports whether a server says that the user has no right to a command or
// a key.
func NotPermitted(err error) bool {
	failure := redis.AsErrorx(err)
	return failure != nil && strings.HasPrefix(failure.Message(), "NOPERM")
}

// Outdated reports whether the node's connections are to be replaced by new ones, for either of two
// reasons. None of them is up, and hostname, which TLS is to verify, is not the one that they were
// made for, or the certificate is not for the name that they were made for; hostname is empty if it is not
// known, or there is no TLS. Or, to a master, new ones would lead
// to another server: a request was refused on one of them, or it leads to another run of the server
// than the one that the layout names without a cluster. New connections are kept for RenewPause at the
// least, so that an address which leads to different servers in turn costs one dial in each pause.
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

// askServer asks the server that the connection leads to for its run_id and its zone, as far as
// they are of use. It does not wait for the answer.
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

// weighs reports whether the node has a share in reads.
func (n *Node) weighs() bool { return n.Weight.Load() > 0 }

// setZone notes whether the node is in the caller's zone.
func (n *Node) setZone(zone string) { n.Local.Store(zone != "" && zone == n.rules.Zone) }

// LearnZone takes the zone of the node that a layout tells, if it tells one and the user
// does not.
func (n *Node) LearnZone(zone string) {
	if zone != "" && n.rules.AsksZone {
		n.setZone(zone)
	}
}
