package engine

import (
	"context"
	"github.com/joomcode/redispipe/internal/sock"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redis"
)

func newTestQueue(maxRequests, maxBytes int) *queue {
	q := newQueue(Opts{Ctx: context.Background(), MaxRequests: maxRequests, MaxBytes: maxBytes})
	q.state = Connecting
	return q
}

func testSession() *Session {
	return &Session{Socket: new(sock.Socket), wake: make(chan *batch, 1)}
}

// put enters a request of size bytes.
func (q *queue) put(size int, fut redis.Future) (seq uint64, ok bool) {
	one := []*send.Request{{Buf: make([]byte, size)}}
	_, _, refused := q.enter(one, &Entry{Future: fut})
	return one[0].Ticket.Seq, refused == nil
}

// requests returns n empty requests.
func requests(n int) []*send.Request {
	reqs := make([]*send.Request, n)
	for i := range reqs {
		reqs[i] = &send.Request{}
	}
	return reqs
}

func (q *queue) room1() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.fits(load{1, 1})
}

func TestQueueAdmits(t *testing.T) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for _, c := range []struct {
		name           string
		state          State
		ctx            context.Context
		pending, bytes int
		requests, size int
		want           func(any) bool
	}{
		{name: "connecting", state: Connecting, requests: 1},
		{name: "connected", state: Connected, requests: 1},
		{name: "to the bound", state: Connected, pending: 9, requests: 1},
		{name: "too large for it, but alone", state: Connected, requests: 100},
		{name: "one too many", state: Connected, pending: 10, requests: 1, want: isFull},
		{name: "batch too large", state: Connected, pending: 1, requests: 10, want: isFull},
		{name: "too many bytes", state: Connected, pending: 1, bytes: 100, requests: 1, size: 1, want: isFull},
		{name: "too many bytes with it", state: Connected, pending: 1, bytes: 60, requests: 1, size: 41, want: isFull},
		{name: "bytes to the bound", state: Connected, pending: 1, bytes: 60, requests: 1, size: 40},
		{name: "more bytes than ever fit", state: Connected, requests: 1, size: 101, want: isTooLarge},
		{name: "more bytes than ever fit, in a full queue", state: Connected, pending: 10, requests: 1, size: 101, want: isTooLarge},
		{name: "disconnected", state: Disconnected, requests: 1, want: isNotConnected},
		{name: "closed", state: Closed, requests: 1, want: isClosedError},
		{name: "context ended", state: Connected, ctx: ended, requests: 1, want: isClosedError},
	} {
		t.Run(c.name, func(t *testing.T) {
			q := newTestQueue(10, 100)
			q.state, q.pending, q.bytes = c.state, c.pending, c.bytes
			if c.ctx != nil {
				q.opts.Ctx = c.ctx
			}
			reqs := requests(c.requests)
			err := q.admit(reqs, load{len(reqs), c.size}, &Entry{}, false)
			if c.want == nil {
				require.Nil(t, err)
				return
			}
			require.True(t, c.want(err), "%v", err)
			require.True(t, err.HasTrait(redis.ErrTraitNotSent))
		})
	}
}

func isTooLarge(err any) bool     { return redis.AsErrorx(err).IsOfType(redis.ErrRequestTooLarge) }
func isFull(err any) bool         { return redis.AsErrorx(err).IsOfType(redis.ErrQueueFull) }
func isNotConnected(err any) bool { return redis.AsErrorx(err).IsOfType(sock.ErrNotConnected) }
func isClosedError(err any) bool  { return redis.AsErrorx(err).IsOfType(redis.ErrContextClosed) }

// Only one sender has the right to write. The first sender gets it, and it becomes free when
// nothing is left to write.
func TestQueueRightToWrite(t *testing.T) {
	q := newTestQueue(10, 100)
	q.state, q.session = Connected, testSession()
	require.NotNil(t, q.add())
	require.Nil(t, q.add(), "somebody else is writing")
	b, _ := q.take(true)
	require.Len(t, b.items, 2)
	require.Nil(t, q.add())
	require.True(t, q.wrote(b), "more is waiting")
	b, _ = q.take(true)
	require.False(t, q.wrote(b))
	require.NotNil(t, q.add(), "the right was given up")
	b, _ = q.take(true)
	require.NotNil(t, b)
	b, _ = q.take(true)
	require.Nil(t, b)
	require.NotNil(t, q.add(), "take gives it up when there is nothing")
}

// add enters a request. It returns the session if the caller must write, otherwise nil.
func (q *queue) add() *Session {
	s, d, _ := q.enter([]*send.Request{{}}, &Entry{})
	if d&mustWrite != 0 {
		return s
	}
	return nil
}

func TestQueueWithdraw(t *testing.T) {
	q := newTestQueue(100, 1000)
	q.writing = true // another goroutine has the right to write
	var seqs []uint64
	for range 4 {
		seq, ok := q.put(10, nil)
		require.True(t, ok)
		seqs = append(seqs, seq)
	}
	q.open.items[2].pinned = true
	require.True(t, q.Withdraw(seqs[1]))
	require.False(t, q.Withdraw(seqs[1]), "twice")
	require.False(t, q.Withdraw(seqs[2]), "part of a transaction")
	require.False(t, q.Withdraw(seqs[3]+1), "not there yet")
	require.Equal(t, 3, q.pending)
	b, _ := q.take(true)
	require.Len(t, b.items, 3)
	require.Len(t, b.buf, 30)
	require.False(t, q.Withdraw(seqs[0]), "taken")
	next, _ := q.put(10, nil)
	require.False(t, q.Withdraw(seqs[3]))
	require.True(t, q.Withdraw(next))
}

// The open batch does not keep withdrawn requests: no bound limits how many there are.
func TestQueueForgetsWhatIsWithdrawn(t *testing.T) {
	q := newTestQueue(10, 1000)
	q.writing = true
	for range 1000 {
		seq, ok := q.put(100, nil)
		require.True(t, ok)
		require.True(t, q.Withdraw(seq))
	}
	require.Zero(t, q.pending)
	require.Zero(t, q.bytes, "of requests that are gone")
	seq, _ := q.put(100, nil)
	require.Equal(t, 100, q.bytes)
	require.True(t, q.Withdraw(seq))
}

// The counters are right after any sequence of calls.
func TestQueueAccounting(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	q := newTestQueue(20, 1000)
	s := testSession()
	q.state, q.session = Connected, s
	var queued []uint64
	var writing *batch
	for step := range 20_000 {
		switch r.IntN(6) {
		case 0, 1:
			if seq, ok := q.put(r.IntN(50), []redis.Future{nil, cancellable(false), cancellable(true)}[r.IntN(3)]); ok {
				queued = append(queued, seq)
			}
		case 2:
			if len(queued) > 0 {
				q.Withdraw(queued[r.IntN(len(queued))])
			}
		case 3:
			if q.writing && writing == nil {
				writing, _ = q.take(true)
				queued = nil
			}
		case 4:
			if writing != nil {
				q.wrote(writing)
				writing = nil
			}
		case 5:
			if b := q.oldestOf(s); b != nil && b != writing {
				q.retire(b, false)
			}
		}
		pending, bytes := 0, 0
		for b := q.head; b != nil; b = b.next {
			pending += len(b.items)
		}
		if q.open != nil {
			pending += len(q.open.items) - q.open.withdrawn
			bytes = len(q.open.buf)
		}
		require.Equal(t, pending, q.pending, "pending, step %d, seed %d", step, seed)
		require.Equal(t, bytes, q.bytes, "bytes, step %d, seed %d", step, seed)
		if pending == 0 {
			require.Zero(t, bytes, "bytes of nobody, step %d, seed %d", step, seed)
		}
	}
}

func TestQueueAbort(t *testing.T) {
	q := newTestQueue(10, 1000)
	q.state, q.session = Connected, testSession()
	q.put(10, nil)
	b, _ := q.take(true)
	q.put(10, nil)
	q.state, q.session = Disconnected, nil

	type result struct{ inflight, open *batch }
	got := make(chan result, 1)
	go func() {
		inflight, open := q.abort()
		got <- result{inflight, open}
	}()
	waitUntil(t, func() bool {
		q.mu.Lock()
		defer q.mu.Unlock()
		return q.released != nil
	})
	require.Empty(t, got, "somebody still writes")
	q.release()
	left := <-got
	require.Same(t, b, left.inflight)
	require.Len(t, left.open.items, 1)
	require.Zero(t, q.pending)
	require.Zero(t, q.bytes)
	require.Nil(t, q.retire(b, true), "the reader is too late")
	require.Zero(t, q.pending)
}

// A future's Cancelled method is user code, which may panic or end its goroutine. The queue
// continues.
func TestQueueSurvivesCancelledPanics(t *testing.T) {
	q := newTestQueue(10, 1000)
	q.writing = true
	q.put(10, panicky{})
	q.put(10, nil)
	b, cancelled := q.take(true)
	require.Len(t, b.items, 2)
	require.Empty(t, cancelled)
	require.Equal(t, 2, q.pending)
}

type panicky struct{}

func (panicky) Resolve(any, uint64) { panic("resolve") }
func (panicky) Cancelled() error    { panic("cancelled") }

// waitUntil waits until condition holds, which another goroutine brings about.
func waitUntil(t testing.TB, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !condition(); {
		if time.Now().After(deadline) {
			t.Fatal("it did not happen")
		}
		runtime.Gosched()
		time.Sleep(100 * time.Microsecond)
	}
}

// Statistics do not count the library's own requests. A shutdown does not wait for them, and the
// queue accepts them even when writes are stopped.
func TestQueueOwnRequests(t *testing.T) {
	q := newTestQueue(10, 100)
	own := &Entry{Future: send.Internal(func(any, uint64) {})}
	_, _, refused := q.enter(requests(2), own)
	require.Nil(t, refused)
	notSent, unknown := q.Left()
	require.Zero(t, notSent+unknown)
	q.withhold()
	_, _, refused = q.enter(requests(1), own)
	require.Nil(t, refused)
	_, _, refused = q.enter(requests(1), &Entry{})
	require.True(t, isClosedError(refused))
}
