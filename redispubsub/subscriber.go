package redispubsub

import (
	"context"
	"sync"
	"time"

	"github.com/joomcode/redispipe/internal/inner"
	"github.com/joomcode/redispipe/internal/wire"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
)

// Subscriber keeps subscriptions on one server, or on the nodes of a cluster. It has
// one socket for each node that has subscriptions, and one more for each subscription
// with the policy Block. It is safe for use by many goroutines.
//
// It has two sets of topics: those that are wanted, and those that servers have
// confirmed. They are compared after each change of either: a new socket, a
// confirmation, a slot that moves.
type Subscriber struct {
	nodes  inner.Nodes
	lag    time.Duration // how late a server may send what it has from others
	logger Logger
	hooks  redis.Hooks
	ctx    context.Context
	cancel context.CancelFunc
	// poke has room for one: topics are to be placed.
	poke chan struct{}
	// everywhere stands for all subscriptions that are on several nodes, as an owner.
	everywhere *Subscription
	counts     counters

	// mu guards what is below, and all of the feeds, topics and calls. The lock of a
	// buffer may be taken under it, never the other way round, so that what members
	// take and what their topics are change at the same time.
	mu      sync.Mutex
	closed  bool
	subs    map[*Subscription]struct{} // that are not closed
	topics  map[topicKey]*topic        // that somebody wants
	feeds   map[feedKey]*feed
	delayed map[*topic]time.Time  // when topics are to be placed that no node takes now
	leaving map[topicKey][]*topic // that have moved, and whose nodes have not given them up
	seen    <-chan struct{}       // what Nodes returned last, closed when it has changed
	moved   time.Time             // when other nodes, or other slots of theirs, were found last
}

// Nodes is a cluster: a *rediscluster.Cluster, or what embeds one.
type Nodes interface {
	// Inner is for packages of this module: nobody else can call it.
	Inner(wire.Ask) wire.Inner[redis.Future]
	// ForceReloading has the nodes found out again soon.
	ForceReloading()
	// Ctx returns the context that the subscriber ends with.
	Ctx() context.Context
}

// oneNode is the Nodes of a connection.
type oneNode struct {
	inner.Nodes // for what nobody asks of them: it is nil
	conn        *redisconn.Connection
}

func (n oneNode) Master(int) inner.Node      { return n.conn }
func (n oneNode) Publisher(int) inner.Node   { return n.conn }
func (n oneNode) MasterAt(string) inner.Node { return nil }
func (n oneNode) ForceReloading()            {}
func (n oneNode) All() (masters, replicas []inner.Node, since time.Time, changed <-chan struct{}) {
	return []inner.Node{n.conn}, nil, time.Time{}, nil
}

// topicKey names what is asked for: a topic, for all subscriptions that share sockets or
// for one that has its own, and on which node.
type topicKey struct {
	Topic
	owner *Subscription // nil: shared; Subscriber.everywhere: shared by those on several nodes
	node  inner.Node    // nil: one that has the topic
}

func (k topicKey) spot() spot {
	if k.node == nil {
		return spot{Topic: k.Topic}
	}
	return spot{k.Topic, k.node.Addr()}
}

// topic is a topic that is wanted, or is to be unsubscribed. It is guarded by
// Subscriber.mu.
type topic struct {
	key     topicKey
	members []*member // never changed in place: readers have it without the lock
	feed    *feed     // where it is, or is to be, subscribed; nil: no node is known

	live      bool      // the server has confirmed it
	since     time.Time // when it was asked for
	asked     *command  // that it is in, in the batch in flight; nil: none
	alone     bool      // to be asked for by a command of its own
	confirmed bool      // by an answer to the batch in flight
	heard     bool      // confirmed before, here or by another node
	givenUp   bool      // by the server, of itself, in this session
	doubted   bool      // the nodes are to be found out once more when it is live: a replica confirms, too
	leaving   time.Time // it has moved: until when its node is waited for; else zero
	fences    int       // confirmations that are to come before members take messages
	hops      int       // from node to node, since it was subscribed last
	pause     time.Duration
	gone      chan struct{} // closed when it is not on the feed any more; nil: nobody waits
}

// left returns a channel that is closed when the topic is not on its feed any more.
func (t *topic) left() <-chan struct{} {
	if t.gone == nil {
		t.gone = make(chan struct{})
	}
	return t.gone
}

// New makes a Subscriber on the server of a connection, with the connection's options.
// It dials when a topic is subscribed. It lives until Close, or until the connection
// ends.
func New(conn *redisconn.Connection, opts Opts) (*Subscriber, error) {
	if conn == nil {
		return nil, redis.ErrOpts.NewType("no_connection").New("connection is nil")
	}
	return newSubscriber(conn.Ctx(), oneNode{conn: conn}, 0, opts), nil
}

// NewCluster makes a Subscriber on the nodes of a cluster. Sharded channels are
// subscribed on the master of their slot, and follow it. Channels are subscribed on the
// master that the cluster sends their PUBLISH to, patterns on any one master, and both stay
// there as long as it is a master. It lives until Close, or until the cluster ends.
func NewCluster(nodes Nodes, opts Opts) (*Subscriber, error) {
	if nodes == nil {
		return nil, redis.ErrOpts.NewType("no_cluster").New("cluster is nil")
	}
	within := inner.NodesOf(nodes)
	if within == nil {
		return nil, redis.ErrOpts.NewType("no_cluster").New("it is no cluster of package rediscluster")
	}
	return newSubscriber(nodes.Ctx(), within, busLag, opts), nil
}

func newSubscriber(ctx context.Context, nodes inner.Nodes, lag time.Duration, opts Opts) *Subscriber {
	if opts.Logger == nil {
		opts.Logger = DefaultLogger{}
	}
	s := &Subscriber{
		nodes: nodes, lag: lag, logger: opts.Logger, hooks: redis.NewHooks(opts.Hooks...), poke: make(chan struct{}, 1),
		subs: map[*Subscription]struct{}{}, topics: map[topicKey]*topic{},
		feeds: map[feedKey]*feed{}, delayed: map[*topic]time.Time{}, leaving: map[topicKey][]*topic{}, everywhere: &Subscription{},
	}
	_, _, _, s.seen = nodes.All()
	s.ctx, s.cancel = context.WithCancel(ctx)
	go s.run()
	return s
}

// Close ends the subscriber and all of its subscriptions, with [ErrClosed]. It does not
// wait.
func (s *Subscriber) Close() { s.cancel() }

// run is the subscriber's goroutine: it places topics anew when the nodes change. New
// starts it; it ends with the context.
func (s *Subscriber) run() {
	_, _, _, changed := s.nodes.All()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-s.ctx.Done():
			s.finish()
			return
		case <-changed:
			_, _, _, changed = s.nodes.All() // before looking at them
			s.placeAll()
		case <-s.poke:
			s.placeAll()
		case <-timer.C:
		}
		timer.Reset(s.placeDelayed())
	}
}

// finish ends all subscriptions. Their gaps end with them.
func (s *Subscriber) finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	now, err := time.Now(), s.errClosed()
	for sub := range s.subs {
		for _, members := range sub.members {
			for _, m := range members {
				m.settleLocked(nil, err)
				m.sub.buffer.removeMember(m, now, nil)
			}
		}
		clear(sub.members)
		sub.buffer.end(err)
	}
	clear(s.subs)
}

// errClosed is what a subscription gets that was closed, or whose subscriber has ended.
func (s *Subscriber) errClosed() error {
	if cause := context.Cause(s.ctx); cause != nil {
		return ErrClosed.Wrap(cause, "the subscriber is closed")
	}
	return ErrClosed.New("the subscription is closed")
}

// topicLocked returns the topic of a key, made if there is none.
func (s *Subscriber) topicLocked(key topicKey) *topic {
	top := s.topics[key]
	if top == nil {
		top = &topic{key: key}
		s.topics[key] = top
	}
	return top
}
