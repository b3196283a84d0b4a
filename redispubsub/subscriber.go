package redispubsub

import (
	"context"
	"sync"
	"time"

	"github.com/joomcode/redispipe/internal/inbox"
	"github.com/joomcode/redispipe/internal/inner"
	"github.com/joomcode/redispipe/internal/life"
	"github.com/joomcode/redispipe/internal/wanted"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
)

// Subscriber keeps subscriptions on one server, or on the nodes of a cluster. It has
// one socket for each node that has subscriptions, and one more for each subscription
// with the policy Block. It is safe for use by many goroutines.
type Subscriber struct {
	logger Logger
	hooks  redis.Hooks
	nodes  inner.Nodes
	ctx    context.Context
	cancel context.CancelCauseFunc
	// toPlace has room for one: topics are to be placed.
	toPlace chan struct{}
	counts  inbox.Counts

	// mu guards what is below. It is released by unlock, but where nothing has changed.
	mu       sync.Mutex
	table    *wanted.Table
	closed   bool
	sessions map[*wanted.Feed]*session // that receive
	ended    traffic                   // of sessions that have ended
}

// New makes a Subscriber on the server of a connection, with the connection's options.
// It dials when a topic is subscribed. It lives until Close, or until the connection
// ends.
func New(conn *redisconn.Connection, opts Opts) (*Subscriber, error) {
	if conn == nil {
		return nil, redis.ErrOpts.NewType("no_connection").New("connection is nil")
	}
	return newSubscriber(conn.Ctx(), oneNode{conn: conn}, false, opts), nil
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
	return newSubscriber(nodes.Ctx(), within, true, opts), nil
}

func newSubscriber(ctx context.Context, nodes inner.Nodes, several bool, opts Opts) *Subscriber {
	if opts.Logger == nil {
		opts.Logger = DefaultLogger{}
	}
	s := &Subscriber{
		logger: opts.Logger, hooks: redis.NewHooks(opts.Hooks...), nodes: nodes, toPlace: make(chan struct{}, 1),
		sessions: map[*wanted.Feed]*session{},
	}
	s.ctx, s.cancel = context.WithCancelCause(ctx)
	s.table = wanted.New(s.ctx, nodes, several, s.toPlace, func(f *wanted.Feed) { go s.attend(f) })
	go s.run()
	return s
}

// Close ends the subscriber and all of its subscriptions, with [ErrClosed]. It does not
// wait.
func (s *Subscriber) Close() { s.cancel(life.ErrClosed) }

// run is the subscriber's goroutine: it places topics anew when the nodes change. New
// starts it; it ends with the context.
func (s *Subscriber) run() {
	changed := s.nodes.Changed()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		all := true
		select {
		case <-s.ctx.Done():
			s.finish()
			return
		case <-changed:
			changed = s.nodes.Changed() // before looking at them
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
	s.closed = true
	s.table.End(s.errClosed())
}

// errClosed is what a subscription gets that was closed, or whose subscriber has ended.
func (s *Subscriber) errClosed() error {
	if why := life.EndedBy(s.ctx); why != nil {
		return ErrClosed.Wrap(why, "the subscriber is closed")
	}
	if s.ctx.Err() != nil {
		return ErrClosed.New("the subscriber is closed")
	}
	return ErrClosed.New("the subscription is closed")
}

// unlock ends a change of the table, and sends what is to be asked for because of it.
func (s *Subscriber) unlock() {
	asks := s.table.Asks()
	s.mu.Unlock()
	for sock, reqs := range asks {
		_ = sock.Send(reqs...) // fails with the socket only
	}
}
