package redispubsub_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redispubsub"
	"github.com/joomcode/redispipe/testbed"
)

type hookKey struct{}

// recording is a hook that records the operations around which it is called.
type recording struct {
	before func(ctx context.Context)

	mu   sync.Mutex // guards the fields below
	seen []string
	ends []redis.Completion
}

func (r *recording) Before(ctx context.Context, _ redis.Operation) context.Context {
	if r.before != nil {
		r.before(ctx)
	}
	return context.WithValue(ctx, hookKey{}, fmt.Sprint(ctx.Value(hookKey{}), "+"))
}

func (r *recording) After(ctx context.Context, op redis.Operation, end redis.Completion) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = append(r.seen, fmt.Sprintf("%v %d %s %d: %s %s", ctx.Value(hookKey{}), op.Kind, op.Command, op.Requests, end.Outcome, end.Address))
	r.ends = append(r.ends, end)
}

// last returns the operation that was recorded since its previous call. There must be exactly one.
func (r *recording) last(t *testing.T) (string, redis.Completion) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	require.Len(t, r.seen, 1)
	seen, end := r.seen[0], r.ends[0]
	r.seen, r.ends = nil, nil
	return seen, end
}

func newHookedSubscriber(t *testing.T, conn *redisconn.Connection, hooks ...redis.Hook) *redispubsub.Subscriber {
	t.Helper()
	s, err := redispubsub.New(conn, redispubsub.Opts{Logger: redispubsub.NoopLogger{}, Hooks: hooks})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

// A hook is called once around each call, with its context, its request and its outcome. It is not
// called for messages.
func TestHook(t *testing.T) {
	server := testbed.NewServer(t, testbed.Options{ACL: []string{"some on >secret ~* resetchannels &ok* +@all"}})
	conn := connect(t, server.Addr(), redisconn.Opts{Username: "some", Password: "secret"})
	hook := &recording{}
	sub := newHookedSubscriber(t, conn, nil, hook).NewSubscription(redispubsub.SubscriptionOpts{}) // a nil hook is ignored
	ctx := context.WithValue(withPatience(t), hookKey{}, "caller")
	ok, pattern, forbidden := redispubsub.Channel("ok"), redispubsub.Pattern("ok*"), redispubsub.Channel("forbidden")
	there := " " + server.Addr()

	require.NoError(t, sub.Subscribe(ctx, ok))
	seen, end := hook.last(t)
	assert.Equal(t, "caller+ 5 SUBSCRIBE 1: value"+there, seen)
	assert.NoError(t, end.Err)
	assert.Nil(t, end.Result)
	assert.Positive(t, end.Duration)
	publish(t, conn, "PUBLISH", "ok", "1")
	take(t, sub, 1)

	err := sub.Subscribe(ctx, pattern, forbidden)
	seen, end = hook.last(t)
	assert.Equal(t, "caller+ 5  2: refused"+there, seen)
	assert.Equal(t, err, end.Result)
	assert.True(t, strings.HasPrefix(redis.AsErrorx(end.Err).Message(), "NOPERM"), "%v", end.Err)
	assert.NotContains(t, end.Err.Error(), "forbidden")

	require.NoError(t, sub.Unsubscribe(ctx, pattern))
	seen, _ = hook.last(t)
	assert.Equal(t, "caller+ 6 PUNSUBSCRIBE 1: value"+there, seen)

	for _, topics := range [][]redispubsub.Topic{nil, {{Kind: 9, Name: "a"}}} {
		err := sub.Subscribe(ctx, topics...)
		assert.ErrorIs(t, err, redis.ErrNotSent)
		assert.False(t, redis.SafeToRetry(err))
		seen, _ = hook.last(t)
		assert.Equal(t, fmt.Sprintf("caller+ 5  %d: not sent ", len(topics)), seen)
	}

	gone, cancel := context.WithCancel(ctx)
	cancel()
	require.NoError(t, server.Pause())
	assert.ErrorIs(t, sub.Subscribe(gone, redispubsub.Channel("ok2")), context.Canceled)
	require.NoError(t, server.Resume())
	seen, end = hook.last(t)
	assert.Equal(t, "caller+ 5 SUBSCRIBE 1: unknown ", seen)
	assert.ErrorIs(t, end.Err, context.Canceled)

	sub.Close()
	err = sub.Subscribe(ctx, ok)
	assert.ErrorIs(t, err, redis.ErrNotSent)
	assert.True(t, redis.AsErrorx(err).IsOfType(redispubsub.ErrClosed))
	assert.False(t, redis.SafeToRetry(err))
	seen, _ = hook.last(t)
	assert.Equal(t, "caller+ 5 SUBSCRIBE 1: not sent ", seen)
}

// A hook that panics, blocks or subscribes affects only its own call.
func TestHooksThatMisbehave(t *testing.T) {
	conn := connect(t, testbed.NewServer(t).Addr(), redisconn.Opts{})
	blocked, release := make(chan struct{}), make(chan struct{})
	own := &recording{}
	var s *redispubsub.Subscriber
	own.before = func(ctx context.Context) {
		switch ctx.Value(hookKey{}) {
		case "panic":
			panic("misbehaving")
		case "block":
			close(blocked)
			<-release
		case "subscribe":
			sub := s.NewSubscription(redispubsub.SubscriptionOpts{})
			assert.NoError(t, sub.Subscribe(ctx, redispubsub.Channel("inner")))
		}
	}
	outer := &recording{}
	s = newHookedSubscriber(t, conn, outer, own)
	subscribe := func(how string) error {
		ctx := context.WithValue(withPatience(t), hookKey{}, how)
		return s.NewSubscription(redispubsub.SubscriptionOpts{}).Subscribe(ctx, redispubsub.Channel("a"))
	}
	done := make(chan error, 1)
	go func() { done <- subscribe("block") }()
	<-blocked
	for _, how := range []string{"panic", "nothing"} {
		require.NoError(t, subscribe(how))
		seen, _ := outer.last(t)
		assert.Contains(t, seen, how+"+ 5 SUBSCRIBE 1: value")
	}
	require.NoError(t, subscribe("subscribe"))
	assert.Len(t, outer.seen, 2, "with the inner one")
	assert.Len(t, own.seen, 2, "neither the one that panicked, nor the inner one")
	outer.seen, outer.ends = nil, nil
	close(release)
	require.NoError(t, <-done)
	seen, _ := outer.last(t)
	assert.Contains(t, seen, "block+")
}
