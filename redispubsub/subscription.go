package redispubsub

import (
	"context"
	"slices"
	"time"

	"github.com/joomcode/redispipe/internal/inner"
	"github.com/joomcode/redispipe/redis"
)

// Subscription is a set of topics with a consumer, who gets the events of all of them
// in order: see [Subscription.Events]. It is safe for use by many goroutines.
type Subscription struct {
	s       *Subscriber
	buffer  *buffer
	invalid error // of the options

	// members of each topic that is wanted, one for each node that it is wanted of.
	// Guarded by Subscriber.mu, like closed.
	members map[Topic][]*member
	closed  bool
}

// NewSubscription makes a subscription without topics. Close it when it is not needed
// any more.
func (s *Subscriber) NewSubscription(opts SubscriptionOpts) *Subscription {
	opts, err := opts.withDefaults()
	sub := &Subscription{s: s, buffer: newBuffer(opts, &s.counts), invalid: err, members: map[Topic][]*member{}}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		sub.closed = true
		sub.buffer.end(s.errClosed())
	} else {
		s.subs[sub] = struct{}{}
	}
	return sub
}

// Subscribe adds topics, and returns when the server has confirmed all of them. If it
// refuses some, the error is a *[SubscribeError], and the others are subscribed. If the
// server can't be reached, or does not answer, it is dialed until ctx is done; topics that
// are not confirmed by then are removed again, unless another call waits for them. A topic
// that is subscribed already stays. For a sharded channel whose slot is moving, Subscribe
// also waits until its old owner has given it up, and all nodes know the new one.
func (s *Subscription) Subscribe(ctx context.Context, topics ...Topic) (err error) {
	if ctx == nil {
		return redis.ErrContextIsNil.New("context is nil")
	}
	s.s.hooks.Around(ctx, operation(redis.OperationSubscribe, topics), func() redis.Completion {
		var addr string
		addr, err = s.subscribe(ctx, topics)
		return completed(err, addr)
	})
	return err
}

// subscribe is Subscribe without hooks. It returns the address of the node that has
// answered last.
func (s *Subscription) subscribe(ctx context.Context, topics []Topic) (addr string, err error) {
	if s.invalid != nil {
		return "", s.invalid
	}
	if err := checkTopics(topics); err != nil {
		return "", err
	}
	if s.on() != OneNode && slices.ContainsFunc(topics, Topic.sharded) {
		return "", ErrTopic.New("a sharded channel on %v: it belongs to one", s.on())
	}
	c, err := s.s.join(s, topics)
	if err != nil {
		return "", err
	}
	select {
	case <-c.done:
	case <-ctx.Done():
		return s.s.giveUp(c), context.Cause(ctx)
	}
	return c.addr, c.err()
}

// Unsubscribe removes topics. Messages that have come before are still delivered; none
// comes into the buffer after Unsubscribe has returned. It returns when the server has
// confirmed, or ctx is done. Topics that are not subscribed are ignored.
func (s *Subscription) Unsubscribe(ctx context.Context, topics ...Topic) (err error) {
	if ctx == nil {
		return redis.ErrContextIsNil.New("context is nil")
	}
	s.s.hooks.Around(ctx, operation(redis.OperationUnsubscribe, topics), func() redis.Completion {
		var addr string
		addr, err = s.unsubscribe(ctx, topics)
		return completed(err, addr)
	})
	return err
}

// unsubscribe is Unsubscribe without hooks.
func (s *Subscription) unsubscribe(ctx context.Context, topics []Topic) (addr string, err error) {
	if err := checkTopics(topics); err != nil {
		return "", err
	}
	left, addr := s.s.removeTopics(s, topics)
	for _, left := range left {
		select {
		case <-left:
		case <-ctx.Done():
			return addr, context.Cause(ctx)
		}
	}
	return addr, nil
}

// Topics returns the topics, confirmed or not, in no particular order.
func (s *Subscription) Topics() []Topic {
	s.s.mu.Lock()
	defer s.s.mu.Unlock()
	topics := make([]Topic, 0, len(s.members))
	for t := range s.members {
		topics = append(topics, t)
	}
	return topics
}

// Close removes all topics and drops the events that nobody has taken. It does not wait.
func (s *Subscription) Close() {
	s.buffer.discard()
	s.s.closeSubscription(s)
}

func (s *Subscription) on() NodeSet { return s.buffer.opts.On }

// nodes are those that a subscription on several has to be on.
func (s *Subscription) nodes(masters, replicas []inner.Node) []inner.Node {
	if s.on() == AllNodes {
		return slices.Concat(masters, replicas)
	}
	return masters
}

// key names what a member on a node needs; node is nil for one that has the topic.
func (s *Subscription) key(t Topic, node inner.Node) topicKey {
	key := topicKey{Topic: t, node: node}
	switch {
	case s.buffer.opts.Policy == Block:
		key.owner = s
	case node != nil:
		key.owner = s.s.everywhere
	}
	return key
}

// call is a Subscribe that waits. It is guarded by Subscriber.mu.
type call struct {
	sub     *Subscription
	waiting map[*member]struct{}
	failed  SubscribeError
	addr    string        // of the node that has answered last
	done    chan struct{} // closed when waiting is empty
}

func (c *call) err() error {
	if len(c.failed.Topics) == 0 {
		return nil
	}
	return &c.failed
}

// settleLocked ends the wait of all calls for m. f is the node that has answered, nil if
// none has.
func (m *member) settleLocked(f *feed, err error) {
	for _, c := range m.calls {
		if f != nil {
			c.addr = f.key.conn.Addr()
		}
		if err != nil {
			c.failed.Topics = append(c.failed.Topics, m.key.Topic)
			c.failed.Errors = append(c.failed.Errors, err)
		}
		if delete(c.waiting, m); len(c.waiting) == 0 {
			close(c.done)
		}
	}
	m.calls = nil
}

// waitLocked has a call wait for m.
func (c *call) waitLocked(m *member) {
	m.calls = append(m.calls, c)
	c.waiting[m] = struct{}{}
}

// join adds topics to a subscription.
func (s *Subscriber) join(sub *Subscription, topics []Topic) (*call, error) {
	c := &call{sub: sub, waiting: map[*member]struct{}{}, done: make(chan struct{})}
	s.mu.Lock()
	if s.closed || sub.closed || s.ctx.Err() != nil {
		s.mu.Unlock()
		return nil, s.errClosed()
	}
	s.lookLocked()
	nodes := []inner.Node{nil}
	if sub.on() != OneNode {
		masters, replicas, _, _ := s.nodes.All()
		nodes = sub.nodes(masters, replicas)
	}
	if len(nodes) == 0 {
		s.mu.Unlock()
		return nil, ErrNoNodes.New("no node is known")
	}
	var added []*member
	for _, t := range topics {
		for _, m := range sub.members[t] {
			if _, twice := c.waiting[m]; !twice && len(m.calls) > 0 { // another call has asked for it
				c.waitLocked(m)
			}
		}
		if sub.members[t] != nil {
			continue
		}
		for _, node := range nodes {
			m := sub.newMember(t, node)
			c.waitLocked(m)
			added = append(added, m)
		}
	}
	if len(c.waiting) == 0 {
		close(c.done)
	}
	touched := map[*feed]struct{}{}
	for _, m := range added { // the first may be settled at once, so c has to know all
		s.addLocked(m, touched)
	}
	s.mu.Unlock()
	reconcileAll(touched)
	return c, nil
}

func (s *Subscription) newMember(t Topic, node inner.Node) *member {
	m := &member{sub: s, key: s.key(t, node), made: time.Now()}
	s.members[t] = append(s.members[t], m)
	return m
}

// addLocked puts a member into its topic.
func (s *Subscriber) addLocked(m *member, touched map[*feed]struct{}) {
	top := s.topicLocked(m.key)
	top.members = append(slices.Clip(top.members), m)
	if top.feed == nil {
		s.placeLocked(top, touched)
	} else {
		top.feed.settleLocked(top)
		touched[top.feed] = struct{}{}
	}
}

// giveUp takes back the topics of a call that are not confirmed yet, unless another call
// waits for them. It returns the address of the node that has answered last.
func (s *Subscriber) giveUp(c *call) (addr string) {
	s.mu.Lock()
	addr = c.addr
	var topics []Topic
	for m := range c.waiting {
		m.calls = slices.DeleteFunc(m.calls, func(other *call) bool { return other == c })
		if len(m.calls) == 0 {
			topics = append(topics, m.key.Topic)
		}
	}
	touched := map[*feed]struct{}{}
	s.removeTopicsLocked(c.sub, topics, touched)
	s.mu.Unlock()
	reconcileAll(touched)
	return addr
}

// removeTopics removes topics from a subscription. It returns channels that are closed when
// the server has confirmed that, and the address of the last of these servers.
func (s *Subscriber) removeTopics(sub *Subscription, topics []Topic) (left []<-chan struct{}, addr string) {
	touched := map[*feed]struct{}{}
	s.mu.Lock()
	for _, top := range s.removeTopicsLocked(sub, topics, touched) {
		left, addr = append(left, top.left()), top.feed.key.conn.Addr()
	}
	s.mu.Unlock()
	reconcileAll(touched)
	return left, addr
}

// removeTopicsLocked removes topics from a subscription. It returns those that are to be
// unsubscribed.
func (s *Subscriber) removeTopicsLocked(sub *Subscription, topics []Topic, touched map[*feed]struct{}) (unwanted []*topic) {
	for _, t := range topics {
		for _, m := range sub.members[t] {
			m.settleLocked(nil, ErrClosed.New("unsubscribed"))
			if top := s.removeLocked(m, nil, touched); top != nil {
				unwanted = append(unwanted, top)
			}
		}
		delete(sub.members, t)
	}
	return unwanted
}

// refuseLocked takes back, on all nodes, a topic that a member could not subscribe to by f.
func (s *Subscriber) refuseLocked(m *member, f *feed, err error, touched map[*feed]struct{}) {
	m.settleLocked(f, err)
	t := m.key.Topic
	for _, each := range m.sub.members[t] {
		each.settleLocked(nil, nil)
		s.removeLocked(each, err, touched)
	}
	delete(m.sub.members, t)
}

// removeLocked takes a member out of its topic, which it returns if it is to be
// unsubscribed. err is why, if the user did not want it.
func (s *Subscriber) removeLocked(m *member, err error, touched map[*feed]struct{}) (unwanted *topic) {
	m.sub.buffer.removeMember(m, time.Now(), err)
	top := s.topics[m.key]
	kept := make([]*member, 0, len(top.members))
	for _, other := range top.members {
		if other != m {
			kept = append(kept, other)
		}
	}
	top.members = kept
	if len(kept) > 0 {
		return nil
	}
	delete(s.topics, top.key)
	delete(s.delayed, top)
	s.leaveAtOnceLocked(top.key, touched)
	f := top.feed
	if f == nil || f.topics[top.key.Topic] != top {
		return nil
	}
	f.settleLocked(top)
	if f.topics[top.key.Topic] != top {
		return nil
	}
	touched[f] = struct{}{}
	return top
}

func (s *Subscriber) closeSubscription(sub *Subscription) {
	s.mu.Lock()
	sub.closed = true
	delete(s.subs, sub)
	topics := make([]Topic, 0, len(sub.members))
	for t := range sub.members {
		topics = append(topics, t)
	}
	s.mu.Unlock()
	s.removeTopics(sub, topics)
}
