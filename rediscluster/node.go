package rediscluster

import (
	"crypto/tls"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"github.com/joomcode/redispipe/internal/inner"
	"github.com/joomcode/redispipe/internal/wire"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
)

// node is a server in one of the two roles, with its connections. A server
// that changes its role becomes another node: connections to replicas are
// READONLY, those to masters must not be.
type node struct {
	c       *Cluster
	addr    string
	replica bool
	links   []*link
	// renewed is when the node took the place of another of its address and role; zero if
	// it did not. Of the refresher alone.
	renewed time.Time
	// refused is set once a connection has refused a write as those to replicas do.
	refused atomic.Bool

	// sync is what a replica last said of its replication.
	sync atomic.Int32
	// local is set if the node is in Opts.Zone.
	local atomic.Bool
	// weight is the node's share in reads, set by the refresher.
	weight atomic.Uint64
}

// link is a connection of a node.
type link struct {
	node  *node
	conn  *redisconn.Connection
	inner inner.Conn // of conn
	// state follows the connection's events, so that choosing a link takes no lock.
	state atomic.Int32
	// server is the id of the run of the server that a connection to a master leads to,
	// without a cluster; nil while it is not known.
	server atomic.Pointer[string]
	// queue is the connection's, once it has queued something.
	queue atomic.Pointer[wire.Ticket]
	// pending counts the requests that the cluster has on the connection. What
	// users send on it directly only the connection knows of: see unanswered.
	pending atomic.Int64
}

// States of a link.
const (
	linkDown       = iota
	linkConnecting // requests are accepted, and wait
	linkUp
)

// newNode makes a node and has its connections dialed.
func (c *Cluster) newNode(addr, hostname string, replica bool) *node {
	n := &node{c: c, addr: addr, replica: replica}
	n.weight.Store(1)
	n.setZone(c.userZone(addr))
	opts := c.opts.HostOpts
	opts.AsyncDial = true
	opts.ReadOnly = replica && c.sharded
	if !c.sharded {
		opts.Role = roleOf(replica)
	}
	opts.TLSConfig = tlsFor(opts, hostname)
	for i := range c.opts.ConnsPerHost {
		if addr == "" {
			break // in the place of a master that there is not
		}
		l := &link{node: n}
		l.state.Store(linkConnecting)
		opts.Logger = hostLogger{l}
		opts.Handle = ClusterHandle{Handle: c.opts.Handle, Address: addr, N: i}
		conn, err := redisconn.Connect(c.ctx, addr, opts)
		if err != nil { // the address is malformed, or the cluster closed
			c.report(LogInitialNodeSkipped{Address: addr, Error: err})
			continue
		}
		l.conn, l.inner = conn, inner.Of(conn)
		n.links = append(n.links, l)
	}
	return n
}

func roleOf(replica bool) redisconn.Role {
	if replica {
		return redisconn.RoleReplica
	}
	return redisconn.RoleMaster
}

// tlsFor returns a configuration that verifies the hostname, where one is known
// and the user names no other.
func tlsFor(opts redisconn.Opts, hostname string) *tls.Config {
	if !opts.TLSEnabled || hostname == "" {
		return opts.TLSConfig
	}
	config := opts.TLSConfig.Clone()
	if config == nil {
		config = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	if config.ServerName == "" {
		config.ServerName = hostname
	}
	return config
}

// update keeps state up to date. It runs in the connection's goroutine.
func (l *link) update(conn *redisconn.Connection, event redisconn.LogEvent) {
	switch event.(type) {
	case redisconn.LogConnecting:
		l.state.Store(linkConnecting)
		l.server.Store(nil)
	case redisconn.LogConnected:
		l.state.Store(linkUp)
		l.askServer(conn)
		if l.node.replica {
			l.node.askSync(conn, nil)
		}
	case redisconn.LogConnectFailed, redisconn.LogDisconnected:
		l.state.Store(linkDown)
		if l.node.replica {
			l.node.sync.Store(syncNever)
		}
		l.node.c.ForceReloading()
	case redisconn.LogContextClosed:
		l.state.Store(linkDown)
	}
}

// notPermitted reports whether a server says that the user has no right to a command or
// a key.
func notPermitted(err error) bool {
	failure := redis.AsErrorx(err)
	return failure != nil && strings.HasPrefix(failure.Message(), "NOPERM")
}

// pick returns a link of the node: one that is up, then one that is connecting;
// avoid only if there is no other. It returns nil if none accepts requests.
func (n *node) pick(seed RoundRobinSeed, avoid *link) *link {
	first := 0
	if n.c.opts.ConnHostPolicy == ConnHostRoundRobin && len(n.links) > 1 {
		first = int(seed.Current() % uint32(len(n.links)))
	}
	var waiting *link
	for i := range n.links {
		l := n.links[(first+i)%len(n.links)]
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
func (n *node) upLink() *link {
	for _, l := range n.links {
		if l.state.Load() == linkUp {
			return l
		}
	}
	return nil
}

// isUp reports whether the node has a connection.
func (n *node) isUp() bool { return n.upLink() != nil }

// latency is the least round trip of the node's connections; 0 is unknown.
func (n *node) latency() time.Duration {
	var least time.Duration
	for _, l := range n.links {
		if trip := l.conn.PingLatency(); trip > 0 && (least == 0 || trip < least) && l.state.Load() == linkUp {
			least = trip
		}
	}
	return least
}

// host is the node's without the port.
func (n *node) host() string {
	host, _, _ := net.SplitHostPort(n.addr)
	return host
}

// takeTicket makes the link the one that takes back a request that it has queued, so
// that it can count.
func (l *link) takeTicket(r *wire.Request) {
	if r.Ticket.Queue == nil {
		return
	}
	if l.queue.Load() == nil {
		l.queue.Store(&wire.Ticket{Queue: r.Ticket.Queue})
	}
	r.Ticket.Queue = l
}

// Withdraw implements wire.Withdrawer.
func (l *link) Withdraw(seq uint64) bool {
	queue := l.queue.Load()
	if queue == nil || !queue.Queue.Withdraw(seq) {
		return false
	}
	l.pending.Add(-1)
	return true
}

// Delay tells package redis where the time of a request has gone.
func (l *link) Delay(seq uint64) (redis.Delay, bool) {
	if queue := l.queue.Load(); queue != nil {
		return delayIn(queue.Queue, seq)
	}
	return redis.Delay{}, false
}

// delayIn asks a queue where the time of a request has gone.
func delayIn(queue wire.Withdrawer, seq uint64) (redis.Delay, bool) {
	if known, ok := queue.(interface {
		Delay(seq uint64) (redis.Delay, bool)
	}); ok {
		return known.Delay(seq)
	}
	return redis.Delay{}, false
}

// unanswered counts the requests on the link, be they of the cluster, of a
// scanner or of somebody who got the connection from EachShard. A request of the
// cluster's counts until it has gone on, though the connection has answered it.
func (l *link) unanswered() int64 {
	n := l.pending.Load() // first: it falls only once the connection counts
	return max(n, int64(l.conn.Pending()))
}

var _ wire.Withdrawer = (*link)(nil)

// hostLogger passes what a connection reports to the cluster's logger, and
// keeps the state of its link.
type hostLogger struct {
	link *link
}

// Report implements redisconn.Logger.
func (h hostLogger) Report(conn *redisconn.Connection, event redisconn.LogEvent) {
	c := h.link.node.c
	if e, ok := event.(redisconn.LogOptCorrected); ok {
		if _, again := c.corrected.LoadOrStore(e.Option, nil); again {
			return // all connections have the same options
		}
	}
	h.link.update(conn, event) // first, so that who sees the event sees its effect
	c.report(LogHostEvent{Conn: conn, Event: event})
	if user := c.opts.HostOpts.Logger; user != nil {
		user.Report(conn, event)
	}
}

// ReqStat implements redisconn.Logger.
func (h hostLogger) ReqStat(conn *redisconn.Connection, req Request, res any, nanos, in, out int64) {
	c := h.link.node.c
	c.opts.Logger.ReqStat(c, conn, req, res, nanos, in, out)
	if user := c.opts.HostOpts.Logger; user != nil {
		user.ReqStat(conn, req, res, nanos, in, out)
	}
}

// WantsReqStat tells redisconn whether ReqStat does anything.
func (h hostLogger) WantsReqStat() bool {
	c := h.link.node.c
	defer c.recovered() // no statistics then
	return wantsReqStat(c.opts.Logger) || redisconn.WantsReqStat(c.opts.HostOpts.Logger)
}
