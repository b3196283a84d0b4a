// Package backend is what packages that are built on redisconn use of a connection beside what
// its users do.
package backend

import (
	"context"
	"time"

	"github.com/joomcode/redispipe/internal/dial"
	"github.com/joomcode/redispipe/internal/push"
	"github.com/joomcode/redispipe/internal/redisurl"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redis"
)

// OptsOfURL returns the redisconn.Opts of what a URL says. Package redisconn sets it, in its
// initialization.
var OptsOfURL func(u *redisurl.URL) any

// ConnectNode is redisconn.Connect of a server that has to be a node of a cluster: members returns the
// IDs of those, none if they are not known. opts are redisconn.Opts. Package redisconn sets it, in its
// initialization.
var ConnectNode func(ctx context.Context, addr string, opts any, members func() map[string]bool) (conn any, err error)

// Conn is the [send.Inner] of a redisconn.Connection.
type Conn interface {
	send.Inner[redis.Future]
	// SendEncodedAsk is SendEncoded, with ASKING before the request if asking is set.
	SendEncodedAsk(r *send.Request, cb redis.Future, n uint64, asking bool)
	// SendEncodedBatch is SendBatchFlags of requests that are encoded. With
	// DoTransaction the future gets nothing but what EXEC answers.
	SendEncodedBatch(reqs []*send.Request, cb redis.Future, start uint64, flags int)
	// OpenDedicatedAsk is OpenDedicated of a connection that sends ASKING before its
	// requests, if asking is set, for as long as ASK holds.
	OpenDedicatedAsk(ctx context.Context, asking bool) (send.Dedicated, error)
	// OpenTracking makes a connection to the same server, with the same options, that speaks
	// RESP3 and is told of changes of the keys that are read on it: told is called with each
	// push, in the order of the replies, in whatever goroutine decodes those, and ended when
	// the connection is lost, or is of another user than this one. It has one socket, and
	// ends with that, with this connection, or with ctx. A failure is reported to the logger
	// of this connection.
	OpenTracking(ctx context.Context, told func(*redis.Push), ended func()) (redis.Sender, error)
	// Queue returns where the requests are that the connection has taken.
	Queue() Queue
	// Flight says how far the requests in flight have come.
	Flight() Flight
	// Scripted reports whether the connection is of one user, who may change its state.
	Scripted() bool
	// Speaks returns the protocol of the results, 2 or 3.
	Speaks() int
	// Silence returns IOTimeout, or its default if that is negative.
	Silence() time.Duration
	// Dialer returns what dials the sockets of the connection, and greets the server on them.
	Dialer() *dial.Dialer
	// DrainBeside has the sockets beside the shared one accept no more, as Shutdown does: it ends blocking
	// commands, and those that wait for a dedicated connection.
	DrainBeside()
	// BeginBeside counts what is awaited on a socket beside the shared one, for which Shutdown waits until
	// EndBeside is called. It returns false, and counts nothing, if no more is accepted.
	BeginBeside() bool
	EndBeside()
	// SharesCallers says whether the callers of the connection send to other servers, too.
	SharesCallers(several bool)
	// StopWrites says that another server has taken this one's place. Nothing of the users'
	// is written from here on, but for what a goroutine is just about to write, if the
	// socket takes that at once. What is not written ends as what a connection that is closed
	// does not take, and what is written only in part is lost with the connection. Replies are
	// read until Close. The channel is closed when nobody writes any more.
	StopWrites() (stopped <-chan struct{})
}

// Flight is how far the requests in flight of a connection have come.
type Flight struct {
	// Since is when the oldest of them was taken to be written, by timing.Clock; 0 if there is none.
	Since time.Duration
	// Mark is another one whenever something has come from the server.
	Mark uint64
	// Pending is how many are accepted and not answered.
	Pending int
	// Usual is about how long a request is in flight while the server is not busy.
	Usual time.Duration
}

// Queue is the queue of a connection, always the same one. Tickets of requests name it.
type Queue interface {
	send.Withdrawer
	// Delay tells where the time of a request has gone, if it is known.
	Delay(seq uint64) (redis.Delay, bool)
}

// Reporter is the [send.Inner] of a connection or a cluster: what has a logger.
type Reporter interface {
	// Panicked reports that a future of the user's has panicked, with the stack as by
	// debug.Stack.
	Panicked(v any, stack []byte)
}

// Of returns the Conn of a connection.
func Of(conn interface {
	Inner(send.Key) send.Inner[redis.Future]
}) Conn {
	return conn.Inner(send.Key{Held: conn}).(Conn)
}

// Node is a server that can be subscribed on: a *redisconn.Connection. The same node is
// always the same value.
type Node interface {
	Addr() string
	OpenPush(ctx context.Context) (*push.Socket, error)
}

// Nodes is the [send.Inner] of a rediscluster.Cluster: where a subscriber finds servers.
type Nodes interface {
	send.Inner[redis.Future]
	// Master returns the master of a slot, or nil if nobody serves it.
	Master(slot int) Node
	// Publisher returns the node that PUBLISH to a channel of the slot is sent to, a master
	// that is connected; nil if none is.
	Publisher(slot int) Node
	// MovedTo returns the master with the address that a redirect of the node from names, or nil if
	// there is none. It is nil, too, if that is from itself: its connections, which lead to another
	// server than its address by now, are replaced when the nodes are asked for again.
	MovedTo(from Node, addr string) Node
	// All returns all masters and all replicas, and the last time at which the cluster was known
	// to have the previous ones.
	All() (masters, replicas []Node, since time.Time)
	// Changed returns a channel that is closed when other nodes, or other slots of theirs,
	// are known.
	Changed() <-chan struct{}
	// ForceReloading has the cluster asked for its nodes again soon. It does not wait.
	ForceReloading()
}

// Cluster is the [send.Inner] of a rediscluster.Cluster, also with a policy.
type Cluster interface {
	Nodes
	// Sharded reports whether each master has a part of the keys.
	Sharded() bool
	// Masters returns what sends everything to masters, whatever the policy is.
	Masters() redis.Sender
	// OnLeft has f called, until ctx is done, with each slot that its master in the topology has
	// refused by MOVED, or a replica of that, before the request goes on. f must not wait.
	OnLeft(ctx context.Context, f func(slot int))
}

// NodesOf returns the Nodes of a cluster, or of what embeds one: nothing is sent through
// them. It returns nil if there are none.
func NodesOf(cluster interface {
	Inner(send.Key) send.Inner[redis.Future]
}) Nodes {
	nodes, _ := cluster.Inner(send.Key{Embedded: true}).(Nodes)
	return nodes
}
