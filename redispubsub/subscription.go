package redispubsub

import (
	"context"
	"slices"
	"time"

	"github.com/joomcode/redispipe/redis"
)

// Subscription is a set of topics with a consumer, who gets the events of all of them
// in order: see [Subscription.Events]. It is safe for use by many goroutines.
type Subscription struct {
	s       *Subscriber
	buffer  *buffer
	invalid error // of the options

	// members are guarded by Subscriber.mu.
	members map[Topic]*member
	closed  bool
}

// NewSubscription makes a subscription without topics. Close it when it is not needed
// any more.
func (s *Subscriber) NewSubscription(opts SubscriptionOpts) *Subscription {
	opts, err := opts.withDefaults()
	sub := &Subscription{s: s, buffer: newBuffer(opts), invalid: err, members: map[Topic]*member{}}
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
// server can't be reached, it is dialed until ctx is done; topics that are not
// confirmed by then are removed again. A topic that is subscribed already stays.
func (s *Subscription) Subscribe(ctx context.Context, topics ...Topic) error {
	if ctx == nil {
		return redis.ErrContextIsNil.New("context is nil")
	}
	if s.invalid != nil {
		return s.invalid
	}
	if err := checkTopics(topics); err != nil {
		return err
	}
	c, err := s.s.join(s, topics)
	if err != nil {
		return err
	}
	select {
	case <-c.done:
	case <-ctx.Done():
		s.s.giveUp(c)
		return context.Cause(ctx)
	}
	return c.err()
}

// Unsubscribe removes topics. None of their messages is delivered after the call has
// begun. It returns when the server has confirmed, or ctx is done. Topics that are not
// subscribed are ignored.
func (s *Subscription) Unsubscribe(ctx context.Context, topics ...Topic) error {
	if ctx == nil {
		return redis.ErrContextIsNil.New("context is nil")
	}
	if err := checkTopics(topics); err != nil {
		return err
	}
	for _, left := range s.s.removeTopics(s, topics) {
		select {
		case <-left:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
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

// call is a Subscribe that waits. It is guarded by Subscriber.mu.
type call struct {
	sub     *Subscription
	waiting map[*member]struct{}
	failed  SubscribeError
	done    chan struct{} // closed when waiting is empty
}

func (c *call) err() error {
	if len(c.failed.Topics) == 0 {
		return nil
	}
	return &c.failed
}

// settleLocked ends the wait of a call for m.
func (m *member) settleLocked(err error) {
	c := m.call
	if c == nil {
		return
	}
	m.call = nil
	if err != nil {
		c.failed.Topics = append(c.failed.Topics, m.topic)
		c.failed.Errors = append(c.failed.Errors, err)
	}
	if delete(c.waiting, m); len(c.waiting) == 0 {
		close(c.done)
	}
}

// join adds topics to a subscription.
func (s *Subscriber) join(sub *Subscription, topics []Topic) (*call, error) {
	c := &call{sub: sub, waiting: map[*member]struct{}{}, done: make(chan struct{})}
	s.mu.Lock()
	if s.closed || sub.closed || s.ctx.Err() != nil {
		s.mu.Unlock()
		return nil, s.errClosed()
	}
	var added []*member
	for _, t := range topics {
		if sub.members[t] == nil {
			m := &member{sub: sub, topic: t, call: c}
			sub.members[t], c.waiting[m] = m, struct{}{}
			added = append(added, m)
		}
	}
	if len(added) == 0 {
		close(c.done)
	}
	touched := map[*feed]struct{}{}
	for _, m := range added { // the first may be settled at once, so c has to know all
		top := s.topicLocked(m.topic, sub)
		top.members = append(slices.Clip(top.members), m)
		if top.feed == nil {
			s.placeLocked(top, touched)
		} else {
			top.feed.settleLocked(top)
			touched[top.feed] = struct{}{}
		}
	}
	s.mu.Unlock()
	reconcileAll(touched)
	return c, nil
}

// giveUp takes back the topics of a call that are not confirmed yet.
func (s *Subscriber) giveUp(c *call) {
	s.mu.Lock()
	var topics []Topic
	for m := range c.waiting {
		topics = append(topics, m.topic)
		m.call = nil
	}
	s.mu.Unlock()
	s.removeTopics(c.sub, topics)
}

// removeTopics removes topics from a subscription. It returns channels that are closed when the
// server has confirmed that.
func (s *Subscriber) removeTopics(sub *Subscription, topics []Topic) (left []<-chan struct{}) {
	s.mu.Lock()
	touched := map[*feed]struct{}{}
	for _, t := range topics {
		m := sub.members[t]
		if m == nil {
			continue
		}
		m.settleLocked(ErrClosed.New("unsubscribed"))
		top := s.topicLocked(t, sub)
		f := top.feed
		s.removeLocked(top, m, nil)
		if len(top.members) == 0 && f != nil && f.topics[t] == top {
			left = append(left, top.left())
			touched[f] = struct{}{}
		}
	}
	s.mu.Unlock()
	reconcileAll(touched)
	return left
}

// removeLocked takes a member out of its topic. err is why, if the user did not want it.
func (s *Subscriber) removeLocked(top *topic, m *member, err error) {
	m.sub.buffer.removeMember(m, time.Now(), err)
	delete(m.sub.members, m.topic)
	kept := make([]*member, 0, len(top.members))
	for _, other := range top.members {
		if other != m {
			kept = append(kept, other)
		}
	}
	top.members = kept
	if len(kept) > 0 {
		return
	}
	delete(s.topics, top.key)
	delete(s.delayed, top)
	if top.feed != nil {
		top.feed.settleLocked(top)
	}
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
