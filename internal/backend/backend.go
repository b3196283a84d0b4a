// Package backend defines what packages built on redisconn use of a connection in addition to its
// public methods.
package backend

import (
	"context"
	"reflect"
	"time"

	"github.com/joomcode/redispipe/internal/dial"
	"github.com/joomcode/redispipe/internal/lifetime"
	"github.com/joomcode/redispipe/internal/push"
	"github.com/joomcode/redispipe/internal/redisurl"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redis"
)

// OptsOfURL returns the redisconn.Opts for a URL. Package redisconn sets it when it is initialized.
var OptsOfURL func(u *redisurl.URL) any

// ConnectNode is redisconn.Connect for a node of a cluster. It checks that the server is one of the
// nodes whose IDs members returns. If members returns none, it accepts any server. opts are
// redisconn.Opts. Package redisconn sets ConnectNode when it is initialized.
var ConnectNode func(ctx context.Context, addr string, opts any, members func() map[string]bool) (conn any, err error)

// Nobody is a sender whose requests fail, unsent, because it stands for a nil sender.
var Nobody = redis.WithHook(nil, nil)

// Conn is the [send.Backend] of a redisconn.Connection.
type Conn interface {
	send.Backend[redis.Future]
	send.Counter
	// SendEncodedBatch is SendBatchFlags for encoded requests. With DoTransaction the future gets
	// only the answer to EXEC.
	SendEncodedBatch(reqs []*send.Request, cb redis.Future, start uint64, flags int)
	// OpenDedicatedAsk is OpenDedicated with a flag. If asking is set, the connection sends ASKING
	// before its requests for as long as an ASK is valid.
	OpenDedicatedAsk(ctx context.Context, asking bool) (send.Dedicated, error)
	// OpenTracking opens a RESP3 connection to the same server with the same options, which reports
	// changes of the keys that are read on it. It calls told with each push, in the order of the
	// replies, in the goroutine that decodes. It calls ended when the connection is lost or belongs
	// to a different user. The connection has one socket. It ends with that socket, with this
	// connection, or with ctx. Failures go to the logger of this connection.
	OpenTracking(ctx context.Context, told func(*redis.Push), ended func()) (redis.Sender, error)
	// Queue returns the queue of the connection.
	Queue() Queue
	// Flight describes the progress of the requests in flight.
	Flight() Flight
	// Unread reports whether the socket has received bytes that nobody has read. It returns false
	// if it can't tell.
	Unread() bool
	// Terms returns the options that all results depend on.
	Terms() Terms
	// Dialer returns the dialer of the connection's sockets. It also does the handshake.
	Dialer() *dial.Dialer
	// DrainBeside begins to shut down the sockets other than the shared one, as Shutdown does: they
	// accept no more requests. It ends blocking commands and requests that wait for a dedicated
	// connection.
	DrainBeside()
	// Beside counts the calls on sockets other than the shared one. Shutdown waits for them.
	Beside() *lifetime.Running
	// SharesCallers tells the connection that its callers also send to other servers, and that
	// pending returns the number of requests that are pending at all of these servers together. A
	// nil pending means that the callers send only to this server. The connection calls pending
	// under a lock.
	SharesCallers(pending func() int64)
	// StopWrites tells the connection that another server has replaced its server. From now on no
	// user's request is written, except one that a goroutine is just about to write, if the socket
	// takes it at once. Requests that are not written fail as if the connection were closed. If a
	// request is written only in part, the connection is lost. Replies are read until Close. The
	// returned channel is closed when all writers have stopped.
	StopWrites() (stopped <-chan struct{})
}

// Terms are those options of a connection that results depend on.
type Terms struct {
	// Scripted is set if the connection has a single user, who may change its state.
	Scripted bool
	// Protocol is the version of RESP that determines the types of results: 2 or 3.
	Protocol int
	// Silence is IOTimeout or, if IOTimeout is negative, its default.
	Silence time.Duration
}

// Flight describes the progress of the requests in flight of a connection.
type Flight struct {
	// Since is when the oldest of these requests was taken to be written, on timing.Clock. It is 0
	// if there is none.
	Since time.Duration
	// Mark changes whenever bytes arrive from the server.
	Mark uint64
	// Pending is the number of requests that were accepted and are not answered.
	Pending int
	// MinTrip is about how long a request is in flight while the server is not busy.
	MinTrip time.Duration
}

// Queue is the queue of a connection. A connection always has the same one. Tickets of its requests
// contain it.
type Queue interface {
	send.Withdrawer
	// Delay reports where the time of a request went, if that is known.
	Delay(seq uint64) (redis.Delay, bool)
}

// Reporter is the [send.Backend] of a connection or a cluster, which has a logger.
type Reporter interface {
	// Panicked reports that a user's future panicked with the value v. stack is from debug.Stack.
	Panicked(v any, stack []byte)
}

// Of returns the Conn of a connection.
func Of(conn redis.Sender) Conn { return send.BackendOf[redis.Future](conn).(Conn) }

// Inside returns the sender inside a client, a cache, hooks and retries. It calls layer for each
// hook and each sender that adds retries, beginning with the outermost. again adds the same hook or
// retries to another sender.
func Inside(s redis.Sender, layer func(s redis.Sender, again func(redis.Sender) redis.Sender)) redis.Sender {
	for {
		if delegate, is := send.DelegateOf[redis.Future](s); is {
			s = delegate
			continue
		}
		layered, is := s.(interface {
			Unhook() (redis.Sender, func(redis.Sender) redis.Sender)
		})
		if !is {
			return s
		}
		inner, again := layered.Unhook()
		layer(s, again)
		s = inner
	}
}

// Unretried returns the sender through which a client sends, with its hooks but without its retries.
func Unretried(s redis.Sender) redis.Sender {
	s = redis.WithRetry(s, redis.NoRetry)
	if d, is := send.DelegateOf[redis.Future](s); is {
		return d
	}
	return s
}

// Same reports whether a and b send through the same client, connection or cluster. Neither may be
// a nil pointer.
func Same(a, b redis.Sender) bool {
	var inside [2]any
	for i, s := range []redis.Sender{a, b} {
		inside[i], _ = send.Inside(Inside(s, func(redis.Sender, func(redis.Sender) redis.Sender) {}))
	}
	return reflect.ValueOf(inside[0]).Comparable() && inside[0] == inside[1]
}

// BusLag is how late a message, or the news of a slot's new owner, may arrive over the cluster bus.
// Nodes write a message at once, but without TCP_NODELAY. So after another message it waits for an
// acknowledgment, which kernels delay by 40 ms.
const BusLag = 100 * time.Millisecond

// Node is a server to which one can subscribe: a *redisconn.Connection. A node has the same value
// all the time.
type Node interface {
	Addr() string
	OpenPush(ctx context.Context) (*push.Socket, error)
}

// Nodes is the [send.Backend] of a rediscluster.Cluster. A subscriber finds its servers there.
type Nodes interface {
	send.Backend[redis.Future]
	// Master returns the master of a slot, or nil if the slot has none.
	Master(slot int) Node
	// Publisher returns the node that gets a PUBLISH to a channel of the slot: a connected master.
	// It returns nil if there is none.
	Publisher(slot int) Node
	// MovedTo returns the master with the address addr, to which a node has redirected a request. It
	// returns nil if there is none, or if that master is the redirecting node itself. In the latter
	// case that node's connections lead to a different server than its address, and the next refresh
	// replaces them.
	MovedTo(from Node, addr string) Node
	// All returns all masters and all replicas, and the last time at which the cluster still had its
	// previous nodes.
	All() (masters, replicas []Node, since time.Time)
	// Changed returns a channel that is closed when the nodes or their slots change.
	Changed() <-chan struct{}
	// ForceReloading makes the cluster read its nodes again soon. It does not wait.
	ForceReloading()
}

// OneNode returns the Nodes of a connection.
func OneNode(conn Node) Nodes { return oneNode{conn: conn} }

type oneNode struct {
	send.Backend[redis.Future] // nil, because nobody calls these methods
	conn                       Node
}

func (n oneNode) Master(int) Node           { return n.conn }
func (n oneNode) Publisher(int) Node        { return n.conn }
func (n oneNode) MovedTo(Node, string) Node { return nil }
func (n oneNode) ForceReloading()           {}
func (n oneNode) Changed() <-chan struct{}  { return nil }
func (n oneNode) All() (masters, replicas []Node, since time.Time) {
	return []Node{n.conn}, nil, time.Time{}
}

// Cluster is the [send.Backend] of a rediscluster.Cluster, or of one with a policy.
type Cluster interface {
	Nodes
	// Sharded reports whether the keys are spread over several masters.
	Sharded() bool
	// Masters returns a sender that sends everything to masters, whatever the policy is.
	Masters() redis.Sender
	// OnLeft registers f until ctx is done. f is called with each slot for which its master, or a
	// replica of it, answered MOVED, before the request is redirected. f must not block.
	OnLeft(ctx context.Context, f func(slot int))
}

// NodesHolder is embedded in rediscluster.Cluster, and so in each type that embeds a Cluster.
// NodesOf finds the Nodes there. The zero value has none.
type NodesHolder struct{ nodes Nodes }

// HolderOf returns a holder of nodes.
func HolderOf(nodes Nodes) NodesHolder { return NodesHolder{nodes} }

func (h *NodesHolder) held() Nodes { return h.nodes }

// HasNodes is implemented by types that embed a [NodesHolder].
type HasNodes interface{ held() Nodes }

// NodesOf returns the Nodes of a cluster, or of a type that embeds one. It returns nil if there are none.
func NodesOf(cluster HasNodes) (nodes Nodes) {
	defer func() { _ = recover() }() // a user's type may embed a nil pointer
	return cluster.held()
}
