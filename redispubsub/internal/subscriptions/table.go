// Package subscriptions compares the requested topics, by node, with the topics that servers have
// confirmed, and returns the commands to send. It starts no goroutine, and its owner guards all of a
// [Table] with one lock. The lock of an inbox may be taken under that lock, never the other way round,
// so that topics and the intakes of their members change at the same time.
package subscriptions

import (
	"context"
	"time"

	"github.com/joomcode/redispipe/internal/backend"
	"github.com/joomcode/redispipe/internal/pubsub"
	"github.com/joomcode/redispipe/internal/push"
	"github.com/joomcode/redispipe/redispubsub/internal/inbox"
)

// Table holds the requested topics of a server, or of the nodes of a cluster.
type Table struct {
	ctx   context.Context // feeds end with it
	nodes backend.Nodes
	lag   time.Duration // how late a server may pass on messages from other servers
	// toPlace asks the owner to call Place. It has room for one.
	toPlace chan<- struct{}
	// attend starts a goroutine that keeps a socket for a new feed.
	attend func(*Feed)

	sets    map[*Set]struct{} // the sets that are not closed
	topics  map[key]*topic    // the topics with a member
	feeds   map[feedKey]*Feed
	touched map[*Feed]struct{}   // feeds that may have something to ask for
	delayed map[*topic]time.Time // topics that no node takes now, and when to place them
	leaving map[key][]*topic     // moved topics whose old nodes have not given them up yet
	seen    <-chan struct{}      // the last result of nodes.Changed, closed when the nodes change
	moved   time.Time            // when the nodes or their slots last changed
	// everywhere represents, as an owner, all sets that are on several nodes.
	everywhere *Set
}

// Set is the topics of a subscription, with the inbox for their messages.
type Set struct {
	Inbox *inbox.Inbox
	On    NodeSet

	t    *Table
	owns bool // it has sockets of its own, because it blocks them
	// unknown is the last time when the set's nodes were known, or zero if they are known now.
	unknown time.Time
	// members holds the members of each requested topic, one for each node.
	members map[pubsub.Topic][]*Member
}

// NodeSet is redispubsub.NodeSet.
type NodeSet uint8

// The sets.
const (
	OneNode NodeSet = iota
	AllMasters
	AllNodes
)

// String implements fmt.Stringer.
func (n NodeSet) String() string {
	return pubsub.Named("NodeSet", uint8(n), "one node", "all masters", "all nodes")
}

// Member is a topic of a set, on one node.
type Member struct {
	Set    *Set
	Intake *inbox.Intake

	key    key
	answer *Answer // nil: nobody waits for it
}

// Answer is the first answer to a topic that was added to a set, on one node. The exported fields do
// not change after Done is closed.
type Answer struct {
	Topic pubsub.Topic
	Done  chan struct{} // closed when there is an answer, or will be none
	Addr  string        // of the node, if that has answered
	Err   error         // why the topic is not subscribed

	of    *Member
	calls int // calls that wait for it
}

// key identifies a subscription: the topic, the sets that share its socket (or the one set that has its
// own), and the node.
type key struct {
	pubsub.Topic
	owner *Set         // nil: all other sets; Table.everywhere: all sets on several nodes
	node  backend.Node // nil: the topology decides
}

// topic is a topic that is requested or must be unsubscribed.
type topic struct {
	t       *Table
	key     key
	members []*Member // never changed in place: readers have it without the lock
	feed    *Feed     // the socket on which it is, or will be, subscribed; nil: no node is known

	live      bool            // the server has confirmed it
	since     time.Time       // when it was asked for
	asked     *pubsub.Command // the command in flight that asks for it; nil: none
	alone     bool            // subscribe it with a command of its own, because a command for several topics failed
	confirmed bool            // confirmed by an answer to the batch in flight
	heard     bool            // confirmed before, here or by another node
	givenUp   bool            // the server ended it unasked on this socket
	doubted   bool            // ask the cluster for its nodes again when it is live: a replica confirms as well
	leaving   time.Time       // if it has moved, how long to wait for its old node; else zero
	fences    int             // confirmations that must come before members take messages
	hops      int             // moves between nodes since it was last subscribed
	pause     time.Duration
	away      chan struct{} // closed when it is no longer on the feed; nil if nobody waits
}

// Feed is a node with topics, and the socket for their messages.
type Feed struct {
	Node backend.Node
	// Ctx ends when no topic is left.
	Ctx     context.Context
	State   State
	Changed time.Time // when State changed
	Err     error     // why there is no socket

	t      *Table
	key    feedKey
	cancel context.CancelFunc
	topics map[pubsub.Topic]*topic
	dirty  map[*topic]struct{} // to be asked for, or to be unsubscribed
	sock   *push.Socket        // nil while there is none
	// reached is set once there was a socket.
	reached bool
	flight  pubsub.Flight // the commands in flight on it
}

type feedKey struct {
	node  backend.Node
	owner *Set // as key.owner
}

// State is redispubsub.SocketState.
type State uint8

// The states.
const (
	Connecting State = iota
	Connected
	Down
)

// String implements fmt.Stringer.
func (s State) String() string {
	return pubsub.Named("SocketState", uint8(s), "connecting", "connected", "down")
}

// New returns a table for a server or, if manyNodes is set, for the nodes of a cluster. Its feeds end
// with ctx. When a node is unreachable for [backend.BusLag], its topics that other nodes also have move
// to one of these. And the table waits this long before it asks for a topic that has left another node.
func New(ctx context.Context, nodes backend.Nodes, manyNodes bool, toPlace chan<- struct{}, attend func(*Feed)) *Table {
	t := &Table{
		ctx: ctx, nodes: nodes, toPlace: toPlace, attend: attend, seen: nodes.Changed(), everywhere: &Set{},
		sets: map[*Set]struct{}{}, topics: map[key]*topic{}, feeds: map[feedKey]*Feed{}, touched: map[*Feed]struct{}{},
		delayed: map[*topic]time.Time{}, leaving: map[key][]*topic{},
	}
	if manyNodes {
		t.lag = backend.BusLag
	}
	return t
}
