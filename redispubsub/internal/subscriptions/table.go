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
	ctx   context.Context // the feeds end with this context
	nodes backend.Nodes
	lag   time.Duration // how late a server may pass on messages from other servers
	// toPlace asks the owner to call Place. It has room for one.
	toPlace chan<- struct{}
	// attend starts a goroutine that keeps a socket for a new feed.
	attend func(*Feed)

	sets    map[*Set]struct{} // the sets that are not closed
	topics  map[key]*topic    // the topics with a member
	feeds   map[feedKey]*Feed
	touched map[*Feed]struct{}   // feeds that may have commands to send
	delayed map[*topic]time.Time // topics in a pause, and when to place them
	leaving map[key][]*topic     // moved topics that their old nodes may still accept messages for
	seen    <-chan struct{}      // the last result of nodes.Changed, closed when the nodes change
	moved   time.Time            // when the nodes or their slots last changed
	// everywhere is the owner of the topics of all sets that are on several nodes.
	everywhere *Set
}

// Set is the topics of a subscription, with the inbox for their messages.
type Set struct {
	Inbox *inbox.Inbox
	On    NodeSet

	t    *Table
	owns bool // the set has its own sockets, because it stops reading when its inbox is full
	// unknown is the last time when the set's nodes were known, or zero if they are known now.
	unknown time.Time
	// members holds the members of each requested topic, one for each node.
	members map[pubsub.Topic][]*Member
}

// NodeSet is redispubsub.NodeSet.
type NodeSet uint8

// The sets of nodes.
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
	answer *Answer // nil if no call waits for an answer
}

// Answer is the first answer of a node to a topic that was added to a set. The exported fields do not
// change after Done is closed.
type Answer struct {
	Topic pubsub.Topic
	Done  chan struct{} // closed when the node has answered or the wait is useless
	Addr  string        // the address of the node, if it has answered
	Err   error         // why the topic is not subscribed

	of    *Member
	calls int // the number of calls that wait for the answer
}

// key identifies a topic of a Table: its kind and name, the owner of its socket, and the node.
type key struct {
	pubsub.Topic
	owner *Set         // a set with its own sockets; Table.everywhere for sets on several nodes; nil for all other sets
	node  backend.Node // the node, for sets on several nodes; nil if the topology chooses it
}

// topic is a topic that is requested or must be unsubscribed.
type topic struct {
	t       *Table
	key     key
	members []*Member // never changed in place, because sessions read it without the lock
	feed    *Feed     // the feed on which the topic is, or will be, subscribed; nil if no node is known

	live      bool            // the server has confirmed the topic
	since     time.Time       // when the last SUBSCRIBE for the topic was sent
	asked     *pubsub.Command // the command in flight that contains the topic; nil if there is none
	alone     bool            // subscribe the topic with its own command, because a command for several topics failed
	confirmed bool            // the server has confirmed the topic since the command in flight was sent
	heard     bool            // this or another node has confirmed the topic at some time
	givenUp   bool            // the server has unsubscribed the topic by itself on this socket
	doubted   bool            // read the topology again after the confirmation, because a replica would also confirm
	leaving   time.Time       // if the topic has left this node, when to stop waiting for the node; otherwise zero
	fences    int             // how many confirmations must arrive before members take messages
	hops      int             // how often the topic has followed MOVED since it was last subscribed
	pause     time.Duration   // the last pause that the method delay has set
	away      chan struct{}   // closed when the topic is no longer on the feed; nil if nobody waits for that
}

// Feed is a node with topics, and the socket for their messages.
type Feed struct {
	Node backend.Node
	// Ctx ends when the feed has no topic left.
	Ctx     context.Context
	State   State
	Changed time.Time // when State changed
	Err     error     // why there is no socket

	t      *Table
	key    feedKey
	cancel context.CancelFunc
	topics map[pubsub.Topic]*topic
	dirty  map[*topic]struct{} // topics to subscribe or unsubscribe with the next batch
	sock   *push.Socket        // nil while there is none
	// reached is set once there was a socket.
	reached bool
	flight  pubsub.Flight // the commands in flight on sock
}

type feedKey struct {
	node  backend.Node
	owner *Set // like key.owner
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

// New returns a table for a server or, if manyNodes is set, for the nodes of a cluster. Its feeds end with
// ctx. When a node has been unreachable for [backend.BusLag], its channels and patterns move to another
// node. For the same time the table waits before it subscribes a moved topic on the new node.
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
