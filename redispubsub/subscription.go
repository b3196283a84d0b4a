package redispubsub

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/lifetime"
	"github.com/joomcode/redispipe/internal/pubsub"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redispubsub/internal/inbox"
	"github.com/joomcode/redispipe/redispubsub/internal/subscriptions"
)

// Subscription is a set of topics with one consumer, which gets the events of all of them
// in order: see [Subscription.Events]. It is safe for concurrent use.
type Subscription struct {
	s       *Subscriber
	set     *subscriptions.Set // guarded by Subscriber.mu, except for its exported fields
	invalid error              // the error in the options, if any
	prefix  namePrefix
}

// NewSubscription returns a subscription without topics. Close it when you no longer need
// it. If s is nil, because New or Open has failed, the subscription has ended, and its Subscribe returns an error.
func (s *Subscriber) NewSubscription(opts SubscriptionOpts) *Subscription {
	opts, err := opts.withDefaults()
	if !s.opened() {
		s, err = closed(), errs.NoSender()
	}
	in := inbox.New(inbox.Opts{
		MaxMessages: opts.MaxMessages, MaxBytes: opts.MaxBytes, Policy: opts.Policy,
		Status: opts.Status, MessageOf: messageOf,
	}, &s.counts)
	s.mu.Lock()
	defer s.unlock()
	sub := &Subscription{s: s, set: s.table.NewSet(in, opts.On), invalid: err, prefix: namePrefix(opts.Prefix)}
	if s.ctx.Err() != nil { // finish may have been called
		s.table.End(s.errClosed(ErrClosed))
	}
	return sub
}

// made returns s, or a subscription that has ended if NewSubscription has not returned s.
func (s *Subscription) made() *Subscription {
	if s == nil || s.set == nil {
		return (*Subscriber)(nil).NewSubscription(SubscriptionOpts{})
	}
	return s
}

// Subscribe adds topics, and returns when the server has confirmed all of them. If the server refuses
// some, Subscribe returns a *[SubscribeError], and the others are subscribed. If the server can't be
// reached, or does not answer, Subscribe keeps dialing until ctx is done. The exception is a single
// server that was never reached and whose address refuses the connection: then Subscribe returns the
// error at once. When Subscribe gives up, it removes the unconfirmed topics, unless another call waits
// for them. Topics that were already subscribed stay subscribed. A retry is safe. For a sharded channel
// whose slot is moving, Subscribe also waits until the old owner has ended its subscription and all nodes
// know the new owner.
func (s *Subscription) Subscribe(ctx context.Context, topics ...Topic) error {
	s = s.made()
	return s.observed(ctx, redis.OperationSubscribe, topics, s.subscribe)
}

// observed calls f with the topics, within the hooks.
func (s *Subscription) observed(ctx context.Context, kind redis.OperationKind, topics []Topic, f func(context.Context, []Topic) (addr string, err error)) (err error) {
	if ctx == nil {
		return redis.Err(errs.NilContext())
	}
	call := func() redis.Completion {
		var addr string
		addr, err = f(ctx, topics)
		return completed(err, addr)
	}
	op := operation(kind, topics)
	for _, h := range slices.Backward(s.s.hooks) {
		inner := call
		call = func() redis.Completion { return h.Around(ctx, op, inner) }
	}
	call()
	return redis.Err(err)
}

// hook is a user's hook in the form that redis.WithHook returns.
type hook interface {
	Around(ctx context.Context, op redis.Operation, f func() redis.Completion) redis.Completion
}

// subscribe is Subscribe without hooks. It returns the address of a node that has answered.
func (s *Subscription) subscribe(ctx context.Context, topics []Topic) (addr string, err error) {
	if s.invalid != nil {
		return "", s.invalid
	}
	if err := checkTopics(topics); err != nil {
		return "", err
	}
	if on := s.set.On; on != OneNode && slices.ContainsFunc(topics, func(t Topic) bool { return t.Kind == KindSharded }) {
		return "", ErrTopic.New("can't subscribe a sharded channel on %v: it belongs to one node", on)
	}
	answers, err := s.add(s.prefix.all(topics))
	if err != nil {
		return "", err
	}
	var failed SubscribeError
	for _, a := range answers {
		select {
		case <-a.Done:
		case <-ctx.Done():
			s.s.mu.Lock()
			defer s.s.unlock()
			return s.set.GiveUp(answers), lifetime.Reason(ctx)
		}
		addr = cmp.Or(a.Addr, addr)
		if n := len(failed.Topics); a.Err != nil && (n == 0 || failed.Topics[n-1] != a.Topic) {
			failed.Topics = append(failed.Topics, a.Topic)
			failed.Errors = append(failed.Errors, redis.Err(a.Err))
		}
	}
	if failed.Topics = s.prefix.without(failed.Topics); len(failed.Topics) > 0 {
		return addr, &failed
	}
	return addr, nil
}

func (s *Subscription) add(topics []Topic) ([]*subscriptions.Answer, error) {
	s.s.mu.Lock()
	defer s.s.unlock()
	if s.set.Closed() || s.s.ctx.Err() != nil {
		return nil, s.s.errClosed(errs.ErrPubSubUnasked)
	}
	return s.set.Add(topics)
}

// Unsubscribe removes topics. Messages that have already arrived are still delivered; no message
// enters the buffer after Unsubscribe has returned. It returns when the server has
// confirmed or ctx is done. It ignores topics that are not subscribed.
func (s *Subscription) Unsubscribe(ctx context.Context, topics ...Topic) error {
	s = s.made()
	return s.observed(ctx, redis.OperationUnsubscribe, topics, s.unsubscribe)
}

// unsubscribe is Unsubscribe without hooks.
func (s *Subscription) unsubscribe(ctx context.Context, topics []Topic) (addr string, err error) {
	if err := checkTopics(topics); err != nil {
		return "", err
	}
	s.s.mu.Lock()
	left, addr := s.set.Remove(s.prefix.all(topics))
	s.s.unlock()
	for _, left := range left {
		select {
		case <-left:
		case <-ctx.Done():
			return addr, lifetime.Reason(ctx)
		}
	}
	return addr, nil
}

// Topics returns the topics, confirmed or not, in no particular order.
func (s *Subscription) Topics() []Topic {
	s = s.made()
	s.s.mu.Lock()
	defer s.s.mu.Unlock()
	return s.prefix.without(s.set.Topics())
}

// Close removes all topics and drops the events that were not consumed. It does not wait.
func (s *Subscription) Close() {
	s = s.made()
	s.set.Inbox.Discard()
	s.s.closeSet(s.set)
}

// operation describes a call of Subscribe or Unsubscribe for hooks.
func operation(kind redis.OperationKind, topics []Topic) redis.Operation {
	op := redis.Operation{Kind: kind, Requests: len(topics)}
	for i, t := range topics {
		if !pubsub.Valid(t.Kind) || i > 0 && t.Kind != topics[0].Kind {
			op.Command = ""
			return op
		}
		op.Command = pubsub.CommandOf(t.Kind, kind == redis.OperationSubscribe)
	}
	return op
}

// completed describes the end of a call for hooks. If several topics have failed, Err is the first error
// with the worst outcome. It is the server's own error, which contains no name of a topic.
func completed(err error, addr string) redis.Completion {
	end := redis.Completion{Address: addr}
	if err == nil {
		return end
	}
	end.Result = err
	var refused *SubscribeError
	if !errors.As(err, &refused) {
		end.Err, end.Outcome = err, redis.OutcomeOf(err)
		return end
	}
	for _, err := range refused.Errors {
		if typed := redis.AsErrorx(err); typed.IsOfType(ErrRefused) {
			err = typed.Cause()
		}
		if outcome := redis.OutcomeOf(err); outcome > end.Outcome {
			end.Err, end.Outcome = err, outcome
		}
	}
	return end
}
