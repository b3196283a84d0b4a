package redis

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/send"
)

// fullQueue admits all waiting callers when the test opens it.
type fullQueue struct{ open chan struct{} }

func (q fullQueue) AwaitCapacity(ctx context.Context) error {
	select {
	case <-q.open:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (q fullQueue) err() error {
	return ErrQueueFull.New("full").WithProperty(errs.EKCapacity, q)
}

func TestDoWaitsForRoom(t *testing.T) {
	q := fullQueue{make(chan struct{})}
	var sent atomic.Int32
	refused := func() {}
	s := &ownSender{encoded: func(r *send.Request, cb Future, n uint64) {
		assert.Equal(t, []string{"GET", "k"}, words(t, r.Buf))
		if sent.Add(1) == 1 {
			cb.Resolve(q.err(), n)
			refused()
			return
		}
		cb.Resolve("OK", n)
	}}
	done := make(chan any, 1)
	go func() { done <- Sync{s}.Do("GET", "k") }()
	require.Eventually(t, func() bool { return sent.Load() == 1 }, 10*time.Second, time.Millisecond)
	assert.Empty(t, done)
	close(q.open)
	assert.Equal(t, "OK", <-done)
	assert.EqualValues(t, 2, sent.Load())

	sent.Store(0)
	ctx, cancel := context.WithCancel(t.Context())
	refused, q.open = cancel, make(chan struct{})
	res := SyncCtx{s}.Do(ctx, "GET", "k")
	assertType(t, ErrRequestWithdrawn, res)
	assert.True(t, AsErrorx(res).HasTrait(ErrTraitNotSent))
	assert.EqualValues(t, 1, sent.Load())

	foreign := &foreignSender{send: func(_ Request, cb Future, n uint64) { cb.Resolve(ErrQueueFull.New("x"), n) }}
	assertType(t, ErrQueueFull, Sync{foreign}.Do("GET", "k"), "nothing to wait for")
}

// A caller that was admitted to a full queue sends even if its context has ended since, because no
// other caller gets its room.
func TestLetInMeansSending(t *testing.T) {
	q := fullQueue{make(chan struct{})}
	close(q.open)
	for name, call := range map[string]func(context.Context, Sender){
		"Do":       func(ctx context.Context, s Sender) { SyncCtx{s}.Do(ctx, "GET", "k") },
		"SendMany": func(ctx context.Context, s Sender) { SyncCtx{s}.SendMany(ctx, []Request{Req("GET", "k")}) },
		"SendTransaction": func(ctx context.Context, s Sender) {
			_, _ = SyncCtx{s}.SendTransaction(ctx, []Request{Req("GET", "k")})
		},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		sent := 0
		answer := func(cb Future, n uint64) {
			if sent++; sent > 1 {
				cb.Resolve("OK", n)
				return
			}
			cancel()
			cb.Resolve(openedQueue{q}.err(), n)
		}
		s := &ownSender{encoded: func(_ *send.Request, cb Future, n uint64) { answer(cb, n) }}
		s.sendMany = func(_ []Request, cb Future, n uint64) { answer(cb, n) }
		s.transaction = func(_ []Request, cb Future, n uint64) { answer(cb, n) }
		call(ctx, s)
		assert.Equal(t, 2, sent, name)
	}
}

// In a cluster only one shard's queue may be full. When there is room, only the refused requests
// are sent again.
func TestSendManyWaitsForRoomOfAPart(t *testing.T) {
	q := fullQueue{make(chan struct{})}
	var sent atomic.Int32
	s := &ownSender{}
	s.sendMany = func(reqs []Request, cb Future, n uint64) {
		first := sent.Add(1) == 1
		for i, r := range reqs {
			if first && i%2 != 0 {
				cb.Resolve(q.err(), n+uint64(i))
				continue
			}
			cb.Resolve(r.Args[0], n+uint64(i))
		}
	}
	reqs := []Request{Req("GET", "a"), Req("GET", "b"), Req("GET", "c"), Req("GET", "d"), Req("GET", "e")}
	done := make(chan []any, 1)
	go func() { done <- Sync{s}.SendMany(reqs) }()
	require.Eventually(t, func() bool { return sent.Load() == 1 }, time.Minute, time.Millisecond)
	assert.Empty(t, done)
	close(q.open)
	assert.Equal(t, []any{"a", "b", "c", "d", "e"}, <-done)
	assert.EqualValues(t, 2, sent.Load())

	sent.Store(0)
	q.open = make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { done <- SyncCtx{s}.SendMany(ctx, reqs) }()
	require.Eventually(t, func() bool { return sent.Load() == 1 }, time.Minute, time.Millisecond)
	cancel()
	res := <-done
	assert.EqualValues(t, 1, sent.Load())
	for i, r := range res {
		if i%2 != 0 {
			assertType(t, ErrRequestWithdrawn, r)
			continue
		}
		assert.Equal(t, reqs[i].Args[0], r)
	}
}

// If the context ends while other requests of the batch are in flight, the refused requests are not
// sent again, and their error names the context.
func TestSendManyContextEndsBeforeThereIsRoom(t *testing.T) {
	q := fullQueue{make(chan struct{})}
	ctx, cancel := context.WithCancel(t.Context())
	s := &ownSender{}
	s.sendMany = func(_ []Request, cb Future, n uint64) {
		cb.Resolve(q.err(), n+1)
		cancel()
	}
	res := SyncCtx{s}.SendMany(ctx, []Request{Req("GET", "a"), Req("GET", "b")})
	assertType(t, ErrRequestCancelled, res[0])
	assert.Equal(t, OutcomeUnknown, OutcomeOf(res[0]))
	assertType(t, ErrRequestWithdrawn, res[1])
}

// If the batch does not wait, each request keeps its own error, even if the context ends.
func TestSendManyHasNothingToWaitFor(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := &ownSender{}
	s.sendMany = func(reqs []Request, cb Future, n uint64) {
		for i, r := range reqs {
			cb.Resolve(ErrQueueFull.New("full").WithProperty(EKRequest, r), n+uint64(i))
		}
		cancel()
	}
	reqs := []Request{Req("GET", "a"), Req("GET", "b")}
	for i, res := range (SyncCtx{s}).SendMany(ctx, reqs) {
		assertType(t, ErrQueueFull, res)
		request, _ := AsErrorx(res).Property(EKRequest)
		assert.Equal(t, reqs[i], request)
	}
}

// openedQueue admits every caller, and ignores the context.
type openedQueue struct{ fullQueue }

func (openedQueue) AwaitCapacity(context.Context) error { return nil }

func (q openedQueue) err() error {
	return ErrQueueFull.New("full").WithProperty(errs.EKCapacity, q)
}

// A read into a variable keeps its buffer while it waits for room.
func TestDoIntoWaitsForRoom(t *testing.T) {
	q := fullQueue{make(chan struct{})}
	close(q.open)
	answer := answering("$3\r\nabc\r\n", Limits{})
	full := true
	s := &ownSender{encoded: func(r *send.Request, cb Future, n uint64) {
		if full {
			full = false
			cb.Resolve(q.err(), n)
			return
		}
		answer.encoded(r, cb, n)
	}}
	b := make([]byte, 0, 64)
	first := &b[:1][0]
	require.NoError(t, Sync{s}.DoInto(&b, "GET", "k"))
	assert.Equal(t, "abc", string(b))
	assert.Same(t, first, &b[0])
}
