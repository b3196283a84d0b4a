// Package subscriptions compares which topics are wanted, and of which nodes, with what servers
// have confirmed, and says what is to be asked for. It knows no goroutine, and its owner
// guards all of a [Table] with one lock. The lock of an inbox may be taken under that, never
// the other way round, so that what members take and what their topics are change at the
// same time.
package subscriptions

import (
	"context"
	"time"

	"github.com/joomcode/redispipe/internal/backend"
	"github.com/joomcode/redispipe/internal/pubsub"
	"github.com/joomcode/redispipe/internal/push"
	"github.com/joomcode/redispipe/redispubsub/internal/inbox"
)

// Table is what is wanted on a server, or on the nodes of a cluster.
type Table struct {
	ctx   context.Context // feeds end with it
	nodes backend.Nodes
	lag   time.Duration // how late a server may send what it has from others
	// toPlace has room for one: Place is to be called.
	toPlace chan<- struct{}
	// attend starts a goroutine that keeps a socket for a new feed.
	attend func(*Feed)

	sets    map[*Set]struct{} // that are not closed
	topics  map[key]*topic    // that somebody wants
	feeds   map[feedKey]*Feed
	touched map[*Feed]struct{}   // that may have something to ask for
	delayed map[*topic]time.Time // when topics are to be placed that no node takes now
	leaving map[key][]*topic     // that have moved, and whose nodes have not given them up
	seen    <-chan struct{}      // what nodes.Changed returned last, closed when it has changed
	moved   time.Time            // when other nodes, or other slots of theirs, were found last
	// everywhere stands for all sets that are on several nodes, as an owner.
	everywhere *Set
}

// Set is the topics of a subscription, with an inbox for what comes of them.
type Set struct {
	Inbox *inbox.Inbox
	On    NodeSet

	t    *Table
	owns bool // its sockets, since it blocks them
	// unknown is when its nodes were known last, if they are not now; else zero.
	unknown time.Time
	// members of each topic that is wanted, one for each node that it is wanted of.
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

// Answer is the first one to a topic that was added to a set, on one node. What is exported
// stays as it is once Done is closed.
type Answer struct {
	Topic pubsub.Topic
	Done  chan struct{} // closed when there is an answer, or will be none
	Addr  string        // of the node, if that has answered
	Err   error         // why the topic is not subscribed

	of    *Member
	calls int // that wait for it
}

// key names what is asked for: a topic, for all sets that share sockets or for one that has
// its own, and on which node.
type key struct {
	pubsub.Topic
	owner *Set         // nil: shared; Table.everywhere: shared by those on several nodes
	node  backend.Node // nil: one that has the topic
}

// topic is a topic that is wanted, or is to be unsubscribed.
type topic struct {
	t       *Table
	key     key
	members []*Member // never changed in place: readers have it without the lock
	feed    *Feed     // where it is, or is to be, subscribed; nil: no node is known

	live      bool            // the server has confirmed it
	since     time.Time       // when it was asked for
	asked     *pubsub.Command // that it is in, in the batch in flight; nil: none
	alone     bool            // to be asked for by a command of its own
	confirmed bool            // by an answer to the batch in flight
	heard     bool            // confirmed before, here or by another node
	givenUp   bool            // by the server, of itself, on this socket
	doubted   bool            // when it is live, the cluster is to be asked for its nodes once more: a replica confirms, too
	leaving   time.Time       // it has moved: until when its node is waited for; else zero
	fences    int             // confirmations that are to come before members take messages
	hops      int             // from node to node, since it was subscribed last
	pause     time.Duration
	away      chan struct{} // closed when it is not on the feed any more; nil: nobody waits
}

// Feed is a node with topics, and the socket that their messages come by.
type Feed struct {
	Node backend.Node
	// Ctx ends when no topic is left.
	Ctx     context.Context
	State   State
	Changed time.Time // when State has
	Err     error     // why there is no socket

	t      *Table
	key    feedKey
	cancel context.CancelFunc
	topics map[pubsub.Topic]*topic
	dirty  map[*topic]struct{} // to be asked for, or to be unsubscribed
	sock   *push.Socket        // nil while there is none
	flight pubsub.Flight       // what was asked for on it
}

type feedKey struct {
	node  backend.Node
	owner *Set // as in key
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

// busLag is how late what comes by the cluster's bus may be: a message, or the news of a
// slot's new owner. Nodes write it at once, but without TCP_NODELAY: behind another message
// it waits for an acknowledgment, which kernels delay by 40 ms.
//
// When a node can't be reached for so long, those of its topics that other nodes have, too, go to
// one of these. And for so long no node is asked for a topic that has left another.
const busLag = 100 * time.Millisecond

// New makes a table for a server or, if several is set, for the nodes of a cluster, whose
// feeds end with ctx.
func New(ctx context.Context, nodes backend.Nodes, several bool, toPlace chan<- struct{}, attend func(*Feed)) *Table {
	t := &Table{
		ctx: ctx, nodes: nodes, toPlace: toPlace, attend: attend, seen: nodes.Changed(), everywhere: &Set{},
		sets: map[*Set]struct{}{}, topics: map[key]*topic{}, feeds: map[feedKey]*Feed{}, touched: map[*Feed]struct{}{},
		delayed: map[*topic]time.Time{}, leaving: map[key][]*topic{},
	}
	if several {
		t.lag = busLag
	}
	return t
}
