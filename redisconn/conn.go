package redisconn

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/backend"
	"github.com/joomcode/redispipe/internal/dial"
	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/lifetime"
	"github.com/joomcode/redispipe/internal/oplog"
	"github.com/joomcode/redispipe/internal/push"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/internal/sock"
	"github.com/joomcode/redispipe/internal/timing"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn/internal/dedicated"
	"github.com/joomcode/redispipe/redisconn/internal/engine"
)

// Connection is a connection to one server, which all of its users share. It implements
// [redis.Sender] and is safe for concurrent use.
type Connection struct {
	addr   string // as given
	opts   Opts
	dialer *dial.Dialer

	ctx    context.Context
	cancel context.CancelCauseFunc
	alone  bool          // not part of a cluster; a cluster could use another server instead
	ended  chan struct{} // closed when the lifecycle has ended

	pipe    *engine.Pipe
	stat    func(*send.Request) *timing.Stat // nil if the logger does not use statistics
	pool    *dedicated.Pool
	large   large
	pushes  *push.Sockets
	streams lifetime.Running // the running calls of DoStream
	// tracking is set if this connection tracks keys for a shared connection: see trackers.
	tracking *tracking
	trackers trackers
	peer     sock.Peer     // the peer that was last reported; only the lifecycle uses it
	proxy    atomic.Bool   // the last handshake has found a proxy
	reauth   chan struct{} // holds the running call of Reauthenticate
	latency  atomic.Int64  // see PingLatency
	// shortest estimates the distance of the server by the shortest recent round trip, in
	// nanoseconds. It falls to a shorter trip at once, but rises by an eighth per trip, so a server
	// that stalls now and then changes it little.
	shortest atomic.Int64
	sockets  atomic.Pointer[socketAddrs] // never nil: without a socket it is zero
	// announced limits how often maintenance is reported.
	announced oplog.Limit
	moves     moves
	handed    chan handed // sends one session from moveOnce to watch
}

type socketAddrs struct {
	local, remote string
	user          string // from the handshake
	greeting      int64  // number of bytes that the handshake has received
}

var _ redis.Sender = (*Connection)(nil)

// Connect returns a Connection to addr, which is host:port, tcp://host:port, unix://path,
// or a path that starts with '.' or '/'.
//
// If ctx has a deadline, ctx limits only the call to Connect, and the connection lives until Close,
// even if ctx is cancelled. If ctx has no deadline, the connection lives until Close or
// until ctx is cancelled.
//
// Connect dials once, unless AsyncDial is set. It returns an error if retrying cannot fix the failure
// (trait [ErrTraitInitPermanent]), or if ReconnectPause is negative. Otherwise the connection keeps
// dialing in the background.
func Connect(ctx context.Context, addr string, opts Opts) (*Connection, error) {
	return connect(ctx, addr, opts, nil, nil)
}

// connect is Connect. If t is not nil, the connection tracks keys. If members is not nil, the
// server is a node of a cluster: see dial.Config.
func connect(ctx context.Context, addr string, opts Opts, t *tracking, members func() map[string]bool) (*Connection, error) {
	if ctx == nil {
		return nil, errs.NilContext()
	}
	parsed, err := dial.ParseAddress(addr)
	if err != nil {
		return nil, err
	}
	switch opts.Protocol {
	case 0, 2, 3:
	default:
		return nil, redis.ErrOpts.NewType("protocol").New("there is no protocol %d: use 2 or 3", opts.Protocol)
	}
	switch opts.Role {
	case RoleAny, RoleMaster, RoleReplica:
	default:
		return nil, redis.ErrOpts.NewType("role").New("there is no role %q: use RoleMaster or RoleReplica", string(opts.Role))
	}
	if !dial.ValidName(opts.ClientName) {
		return nil, ErrClientName.New("Opts.ClientName has a space, or a character that is not printable ASCII")
	}
	given := opts
	opts = given.withDefaults()
	c := &Connection{addr: addr, opts: opts, tracking: t, ended: make(chan struct{}), reauth: make(chan struct{}, 1), handed: make(chan handed, 1)}
	c.sockets.Store(&socketAddrs{})
	c.ctx, c.cancel = lifetime.Begin(ctx)
	c.alone = !lifetime.IsPart(c.ctx)
	if t != nil {
		c.alone = t.alone
	}
	dialing := opts.dialing(parsed, func(v any, stack []byte) {
		c.report(LogFuturePanic{Value: v, Stack: stack})
	})
	dialing.Tracking, dialing.Members = t != nil, members
	c.dialer = dial.New(c.ctx, dialing)
	if t != nil {
		c.dialer.Follow(t.like)
	}
	c.makePipe()
	c.pool = c.newPool()
	c.pushes = c.newPushes()

	c.connecting()
	result := make(chan error, 1)
	making := ctx
	if opts.AsyncDial {
		making = c.ctx
	}
	go c.run(making, result, corrections(given, opts))
	if !opts.AsyncDial {
		if err := <-result; err != nil {
			if lifetime.Reason(ctx) != nil {
				err = redis.Err(err)
			}
			return nil, err
		}
	}
	lifetime.Made(c.ctx, ctx, func(why error) { c.report(LogContextOutlived{Error: why}) })
	return c, nil
}

// makePipe creates the pipe, with the queue for requests.
func (c *Connection) makePipe() {
	o := &c.opts
	p := engine.Opts{
		Ctx: c.ctx, MaxRequests: o.MaxRequests, MaxBytes: o.MaxBytes, Timeout: o.IOTimeout, Silence: c.silence(), Heartbeat: o.Heartbeat,
		Integrity: o.Integrity, Pushes: o.Protocol == 3, Yields: o.WritePause >= 0, Script: o.ScriptMode,
		WithConn: c.withConn, Server: c.place, Measured: c.measured, Trip: owner{c}.ShortestTrip,
		Panicked: shared{c}.Panicked,
	}
	if c.runsApart() {
		p.Large = func(encoded []byte) { c.large.learn(kindOf(encoded)) }
	}
	if oplog.WantsReqStat[DefaultLogger, NoopLogger](o.Logger) {
		c.stat, p.Stat, p.ReqStat = newStat, newStat, c.reportStat
	}
	c.pipe = engine.New(p)
}

// opened reports whether Connect has returned c. Requests of other connections, such as nil ones, fail
// unsent, with the error of a nil sender.
func (c *Connection) opened() bool { return c != nil && c.pipe != nil }

// Close closes the connection. Requests that were not written fail with [redis.ErrContextClosed] as
// not sent. Requests in flight fail with [redis.ErrIO] and may have run. Close does not wait. It
// may be called more than once, and by a future. It does nothing if c is nil, because Connect returns nil with
// an error.
func (c *Connection) Close() {
	if c.opened() {
		c.close(lifetime.ErrClosed)
	}
}

// close closes the connection with a reason, unless it is closed already.
func (c *Connection) close(why lifetime.Closed) {
	c.closed()
	c.cancel(why)
}

// Ctx returns the context of the connection, which ends when the connection is closed.
func (c *Connection) Ctx() context.Context {
	if !c.opened() {
		return lifetime.Ended(errs.NoSender())
	}
	return c.ctx
}

// Addr returns the address as it was given to Connect.
func (c *Connection) Addr() string {
	if c == nil {
		return ""
	}
	return c.addr
}

// ClientName returns Opts.ClientName.
func (c *Connection) ClientName() string {
	if c == nil {
		return ""
	}
	return c.opts.ClientName
}

// Handle returns Opts.Handle.
func (c *Connection) Handle() any {
	if c == nil {
		return nil
	}
	return c.opts.Handle
}

// LocalAddr returns the local address of the socket, or "" if there is no socket.
func (c *Connection) LocalAddr() string { return c.socket().local }

// RemoteAddr returns the remote address of the socket, or "" if there is no socket.
func (c *Connection) RemoteAddr() string { return c.socket().remote }

// socket returns the addresses of the socket. They are empty if there is no socket.
func (c *Connection) socket() socketAddrs {
	if !c.opened() {
		return socketAddrs{}
	}
	return *c.sockets.Load()
}

// place returns the addresses of the server that answers.
func (c *Connection) place() send.Server {
	return send.Server{Address: c.addr, Peer: c.RemoteAddr()}
}

// String implements fmt.Stringer.
func (c *Connection) String() string {
	return fmt.Sprintf("*redisconn.Connection{addr: %s}", c.Addr())
}

// GoString implements fmt.GoStringer, so that %#v does not show the password.
func (c *Connection) GoString() string { return c.String() }

// ConnectedNow reports whether the connection has a socket.
func (c *Connection) ConnectedNow() bool { return c.state() == engine.Connected }

// MayBeConnected reports whether the connection has a socket or is dialing one, so
// that it accepts requests.
func (c *Connection) MayBeConnected() bool { return c.state().Accepts() }

func (c *Connection) state() engine.State {
	if !c.opened() {
		return engine.Closed
	}
	return c.pipe.State()
}

// EachShard implements redis.Sender: it calls f with the connection.
func (c *Connection) EachShard(f func(redis.Sender, error) bool) {
	if !c.opened() {
		backend.Nobody.EachShard(f)
	} else if f != nil {
		f(c, nil)
	}
}

// Ping sends PING and waits for its answer, as redis.Sync does. An answer other than PONG
// is a [redis.ErrPing].
func (c *Connection) Ping() error {
	res := redis.Sync{S: c}.Do("PING")
	if err := redis.AsError(res); err != nil {
		return err
	}
	if !sock.IsPong(res) {
		return redis.ErrPing.New("PING was answered with %T", res).WithProperty(redis.EKResponse, res)
	}
	return nil
}

const (
	// PingLatencyGranularity is the unit to which PingLatency is rounded.
	PingLatencyGranularity = 10 * time.Microsecond
	// PingMaxLatency is the greatest PingLatency.
	PingMaxLatency = 160 * time.Second
)

// PingLatency returns the smoothed round-trip time of heartbeats. Before the first heartbeat it
// returns that of the handshake.
func (c *Connection) PingLatency() time.Duration {
	if !c.opened() {
		return 0
	}
	return time.Duration(c.latency.Load()).Round(PingLatencyGranularity)
}

// withConn adds the connection to an error.
func (c *Connection) withConn(err *errorx.Error) *errorx.Error {
	return errs.Advised(errs.Proxied(err, c.proxy.Load()), c.alone).WithProperty(EKConnection, c).WithProperty(redis.EKAddress, c.addr)
}

// errClosed returns the error with which a closed connection refuses requests.
func (c *Connection) errClosed() *errorx.Error { return c.withConn(sock.Refused(c.ctx)) }

// measured updates the smoothed latency and the shortest round trip.
func (c *Connection) measured(trip time.Duration) {
	trip = min(trip, PingMaxLatency)
	shortest := trip
	if old := time.Duration(c.shortest.Load()); old > 0 {
		shortest = min(trip, old+old/8+PingLatencyGranularity)
	}
	c.shortest.Store(int64(max(shortest, 1)))
	if old := time.Duration(c.latency.Load()); old > 0 {
		trip = (7*old + trip) / 8
	}
	c.latency.Store(int64(trip))
}
