package redispubsub

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/backend"
	"github.com/joomcode/redispipe/internal/lifetime"
	"github.com/joomcode/redispipe/internal/oplog"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redispubsub/internal/inbox"
	"github.com/joomcode/redispipe/redispubsub/internal/subscriptions"
)

// Subscriber keeps subscriptions on one server, or on the nodes of a cluster. It has
// one socket for each node that has subscriptions, and one more for each subscription
// with the policy Block. It is safe for concurrent use.
type Subscriber struct {
	logger Logger
	hooks  []hook // the outermost first
	nodes  backend.Nodes
	ctx    context.Context
	cancel context.CancelCauseFunc
	// toPlace signals that topics need a node. It has room for one.
	toPlace chan struct{}
	counts  inbox.Counts
	// announced limits how often maintenance is reported.
	announced oplog.Limit

	// mu guards the fields below. After a change of the table, release mu with unlock.
	mu       sync.Mutex
	table    *subscriptions.Table
	sessions map[*subscriptions.Feed]*session // the running sessions
	ended    traffic                          // the sum over all sessions that have ended
}

// New returns a Subscriber on the server of a connection, with the connection's options.
// It dials when it subscribes to a topic. It lives until Close, or until the connection
// is closed.
func New(conn *redisconn.Connection, opts Opts) (*Subscriber, error) {
	if send.BackendOf[redis.Future](conn) == nil {
		return nil, redis.ErrOpts.NewType("no_connection").New("connection is nil")
	}
	return newSubscriber(conn.Ctx(), backend.OneNode(conn), false, opts), nil
}

// NewCluster returns a Subscriber on the nodes of a cluster. It subscribes to sharded channels
// on the master of their slot, and follows the slot. It subscribes to a channel on the
// master to which the cluster sends the channel's PUBLISH, and to a pattern on any one master. A channel
// or pattern stays on its node as long as that is a master and reachable. The Subscriber lives until
// Close, or until the cluster is closed.
func NewCluster(nodes Nodes, opts Opts) (*Subscriber, error) {
	if nodes == nil {
		return nil, redis.ErrOpts.NewType("no_cluster").New("cluster is nil")
	}
	within := backend.NodesOf(nodes)
	if within == nil {
		return nil, redis.ErrOpts.NewType("no_cluster").New("nodes is not a cluster of package rediscluster")
	}
	return newSubscriber(nodes.Ctx(), within, true, opts), nil
}

func newSubscriber(ctx context.Context, nodes backend.Nodes, manyNodes bool, opts Opts) *Subscriber {
	s := &Subscriber{
		logger: cmp.Or[Logger](opts.Logger, DefaultLogger{}), nodes: nodes, toPlace: make(chan struct{}, 1),
		sessions: map[*subscriptions.Feed]*session{},
	}
	for _, h := range opts.Hooks {
		if h, ok := redis.WithHook(nil, h).(hook); ok {
			s.hooks = append(s.hooks, h)
		}
	}
	s.ctx, s.cancel = context.WithCancelCause(ctx)
	s.table = subscriptions.New(s.ctx, nodes, manyNodes, s.toPlace, func(f *subscriptions.Feed) { go s.attend(f) })
	go s.run(nodes.Changed()) // Changed is called here, before any topic is placed, because run may start later
	return s
}

// Close closes the subscriber and ends all of its subscriptions with [ErrClosed]. It does not
// wait. It does nothing if s is nil.
func (s *Subscriber) Close() {
	if s.opened() {
		s.cancel(lifetime.ErrClosed)
	}
}

// opened reports whether a constructor has returned s.
func (s *Subscriber) opened() bool { return s != nil && s.table != nil }

// closed returns a subscriber that is closed, in place of one that no constructor has returned. It has no
// goroutine.
func closed() *Subscriber {
	s := &Subscriber{logger: NoopLogger{}}
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	s.cancel(lifetime.ErrClosed)
	s.table = subscriptions.New(s.ctx, backend.OneNode(nil), false, nil, nil)
	return s
}

// run is the subscriber's goroutine. It places topics again when the nodes change; the cluster then closes
// changed. New starts run, which ends with the context.
func (s *Subscriber) run(changed <-chan struct{}) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		all := true
		select {
		case <-s.ctx.Done():
			s.finish()
			return
		case <-changed:
			changed = s.nodes.Changed() // read first, so that a later change of the nodes is noticed
		case <-s.toPlace:
		case <-timer.C:
			all = false
		}
		timer.Reset(s.place(all))
	}
}

func (s *Subscriber) place(all bool) (wait time.Duration) {
	s.mu.Lock()
	defer s.unlock()
	return s.table.Place(all)
}

// finish ends all subscriptions.
func (s *Subscriber) finish() {
	s.mu.Lock()
	defer s.unlock()
	s.table.End(s.errClosed(ErrClosed))
}

// errClosed returns the error, of the given type, of a closed subscription or a subscription
// of a closed subscriber.
func (s *Subscriber) errClosed(as *errorx.Type) error {
	if why := lifetime.EndedBy(s.ctx); why != nil {
		return as.Wrap(why, "the subscriber is closed")
	}
	if s.ctx.Err() != nil {
		return as.New("the subscriber is closed")
	}
	return as.New("the subscription is closed")
}

// unlock ends a change of the table, and sends the commands that follow from it.
func (s *Subscriber) unlock() {
	asks := s.table.Asks()
	s.mu.Unlock()
	for sock, reqs := range asks {
		_ = sock.Send(reqs...) // fails only if the socket has ended, which receive notices as well
	}
}

// attend is the goroutine of a feed: it dials, receives, and dials again. It starts with the feed's
// first topic, and ends when no topic is left.
func (s *Subscriber) attend(f *subscriptions.Feed) {
	for redial := (lifetime.Redial{}); f.Ctx.Err() == nil; {
		began := time.Now()
		sock, err := f.Node.OpenPush(f.Ctx)
		if err == nil {
			s.receive(newSession(s, f, sock))
		} else if f.Ctx.Err() == nil {
			s.failed(f, err)
		}
		if f.Ctx.Err() != nil {
			return
		}
		s.nodes.ForceReloading()
		lifetime.Wake(s.toPlace) // the topics may need another node
		redial.Wait(f.Ctx, began, err == nil)
	}
}

// receive handles the messages of a socket until it ends.
func (s *Subscriber) receive(sess *session) {
	f, sock := sess.feed, sess.sock
	defer context.AfterFunc(f.Ctx, sock.Close)()
	s.mu.Lock()
	s.sessions[f] = sess
	f.Connected(sock)
	s.unlock()
	s.report(LogConnected{Addr: sock.Addr()})
	err := sess.receive()
	sock.Close()
	s.mu.Lock()
	delete(s.sessions, f)
	s.ended.add(sess)
	f.Lost(err)
	s.unlock()
	s.report(LogDisconnected{Addr: sock.Addr(), Error: err})
}

// failed records that dialing failed.
func (s *Subscriber) failed(f *subscriptions.Feed, err error) {
	s.report(LogConnectFailed{Addr: f.Node.Addr(), Error: err})
	s.mu.Lock()
	defer s.unlock()
	f.Failed(err, redis.AsErrorx(err).HasTrait(redisconn.ErrTraitInitPermanent))
}

// closeSet removes the topics of a subscription.
func (s *Subscriber) closeSet(set *subscriptions.Set) {
	s.mu.Lock()
	defer s.unlock()
	set.Close()
}

// Nodes is a cluster: a *rediscluster.Cluster, or a type that embeds one.
type Nodes interface {
	backend.HasNodes
	// ForceReloading makes the cluster read its topology again soon.
	ForceReloading()
	// Ctx returns the context of the cluster; the subscriber ends with it.
	Ctx() context.Context
}
