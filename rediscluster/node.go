package rediscluster

import (
	"context"
	"crypto/tls"

	"github.com/joomcode/redispipe/internal/backend"
	"github.com/joomcode/redispipe/internal/dial"
	"github.com/joomcode/redispipe/internal/lifetime"
	"github.com/joomcode/redispipe/internal/oplog"
	"github.com/joomcode/redispipe/rediscluster/internal/route"
	"github.com/joomcode/redispipe/redisconn"
)

// newNode returns a node and starts to dial its connections. It waits for ZoneOf until asking is done.
func (c *Cluster) newNode(asking context.Context, addr, hostname string, replica bool) *route.Node {
	if addr == "" { // the node takes the place of a missing master
		return c.rules.NewNode(addr, replica, "")
	}
	n := c.rules.NewNode(addr, replica, c.userZone(asking, addr))
	n.Hostname = hostname
	opts := c.opts.HostOpts
	opts.AsyncDial = true
	opts.ReadOnly = replica && c.rules.Sharded
	switch {
	case c.rules.Sharded:
	case replica:
		opts.Role = redisconn.RoleReplica
	default:
		opts.Role = redisconn.RoleMaster
	}
	opts.TLSConfig = tlsFor(opts, hostname)
	ctx := lifetime.Within(c.ctx, func() bool { return c.ctx.Err() == nil && !c.draining.Load() })
	for i := range c.opts.ConnsPerHost {
		l := route.NewLink(n)
		opts.Logger = hostLogger{c, l}
		opts.Handle = ClusterHandle{Handle: c.opts.Handle, Address: addr, N: i}
		conn, err := backend.ConnectNode(ctx, addr, opts, c.knownMembers)
		if err != nil { // the address is malformed, or the cluster closed
			c.report(LogInitialNodeSkipped{Address: addr, Error: err})
			continue
		}
		l.Connect(conn.(*redisconn.Connection))
		c.refresher.made(l)
	}
	return n
}

// knownMembers returns the IDs of the nodes of the cluster, or none if they are not known.
func (c *Cluster) knownMembers() map[string]bool {
	if members := c.members.Load(); members != nil {
		return *members
	}
	return nil
}

// dialOnce connects to a server with that role, in a single attempt. host is its hostname
// for TLS, if known.
func (c *Cluster) dialOnce(ctx context.Context, addr, host string, role redisconn.Role) (*redisconn.Connection, error) {
	opts := c.opts.HostOpts
	opts.ReconnectPause, opts.Role, opts.Logger = -1, role, redisconn.NoopLogger{}
	opts.TLSConfig = tlsFor(opts, host)
	return redisconn.Connect(ctx, addr, opts)
}

// tlsFor returns the user's TLS configuration. If a hostname is known and the user names no other, the
// configuration verifies that hostname.
func tlsFor(opts redisconn.Opts, hostname string) *tls.Config {
	if !opts.TLSEnabled || hostname == "" {
		return opts.TLSConfig
	}
	return dial.TLSConfig(opts.TLSConfig, hostname)
}

// userZone returns the result of Opts.ZoneOf, or "" if ZoneOf is not set, panics, or does not return
// before ctx is done.
func (c *Cluster) userZone(ctx context.Context, addr string) (zone string) {
	if c.opts.ZoneOf == nil || c.opts.Zone == "" || ctx.Err() != nil {
		return ""
	}
	zone, _ = lifetime.CallUserUntil(ctx, func() string { return c.opts.ZoneOf(addr) }, func(string) {}, c.panicked)
	return zone
}

// userWeight returns the node's weight from the WeightProvider, or 1 if the provider has none, panics,
// or does not return before ctx is done. It does not call a provider that has not returned from an
// earlier call.
func (c *Cluster) userWeight(ctx context.Context, n *route.Node) uint64 {
	provider := c.opts.WeightProvider
	if provider == nil || n.Addr == "" || ctx.Err() != nil || !c.weighing.CompareAndSwap(false, true) {
		return 1
	}
	weight, returned := lifetime.CallUserUntil(ctx, func() uint64 {
		defer c.weighing.Store(false)
		for _, host := range []string{n.Host(), n.Addr} {
			if w, ok := provider.GetWeightByHost(host); ok {
				return uint64(w)
			}
		}
		return 1
	}, func(uint64) {}, c.panicked)
	if !returned {
		return 1
	}
	return weight
}

// hostLogger passes the events of a connection to the cluster's logger, and
// updates the state of its link.
type hostLogger struct {
	c    *Cluster
	link *route.Link
}

// Report implements redisconn.Logger.
func (h hostLogger) Report(conn *redisconn.Connection, event redisconn.LogEvent) {
	c := h.c
	if e, ok := event.(redisconn.LogOptCorrected); ok {
		if _, again := c.corrected.LoadOrStore(e.Option, nil); again {
			return // all connections have the same options
		}
	}
	if h.link.Note(conn, event) { // first, so that a logger that gets the event also sees its effect
		c.ForceReloading()
	}
	c.report(LogHostEvent{Conn: conn, Event: event})
	if user := c.opts.HostOpts.Logger; user != nil {
		user.Report(conn, event)
	}
}

// ReqStat implements redisconn.Logger.
func (h hostLogger) ReqStat(conn *redisconn.Connection, req Request, res any, nanos, in, out int64) {
	h.c.opts.Logger.ReqStat(h.c, conn, req, res, nanos, in, out)
	if user := h.c.opts.HostOpts.Logger; user != nil {
		user.ReqStat(conn, req, res, nanos, in, out)
	}
}

// WantsReqStat tells redisconn whether ReqStat does anything.
func (h hostLogger) WantsReqStat() bool {
	defer h.c.recovered() // if a logger panics, WantsReqStat returns false
	return oplog.WantsReqStat[DefaultLogger, NoopLogger](h.c.opts.Logger) ||
		oplog.WantsReqStat[redisconn.DefaultLogger, redisconn.NoopLogger](h.c.opts.HostOpts.Logger)
}
