package engine

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// await starts a goroutine that waits for room.
func (q *queue) await(ctx context.Context) <-chan error {
	done := make(chan error, 1)
	go func() { done <- room{q, load{1, 1}}.AwaitCapacity(ctx) }()
	synctest.Wait()
	return done
}

func returned(done <-chan error) bool {
	synctest.Wait()
	return len(done) > 0
}

func TestQueueAwaitRoom(t *testing.T) {
	fullQueue := func(t *testing.T) (*queue, *batch) {
		q := newTestQueue(2, 1000)
		q.writing = true
		q.put(10, nil)
		q.put(10, nil)
		b, _ := q.take(true)
		require.False(t, q.room1())
		return q, b
	}
	ctx := context.Background()
	test := func(name string, f func(t *testing.T)) {
		t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
	}
	test("there is room", func(t *testing.T) {
		q := newTestQueue(2, 1000)
		require.True(t, returned(q.await(ctx)))
	})
	test("an answer", func(t *testing.T) {
		q, b := fullQueue(t)
		done := q.await(ctx)
		require.False(t, returned(done))
		require.False(t, q.admitted.Load())
		q.retire(b, false)
		require.True(t, returned(done))
		require.True(t, q.admitted.Load(), "else the next sender takes the room")
		q.put(10, nil)
		require.False(t, q.admitted.Load())
	})
	test("as many as there is room for", func(t *testing.T) {
		q, b := fullQueue(t)
		one, two, three := q.await(ctx), q.await(ctx), q.await(ctx)
		q.retire(b, false)
		require.True(t, returned(one))
		require.True(t, returned(two))
		require.False(t, returned(three))
		q.put(10, nil)
		q.put(10, nil)
		b, _ = q.take(true)
		q.retire(b, false)
		require.True(t, returned(three))
	})
	test("context", func(t *testing.T) {
		q, _ := fullQueue(t)
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		require.ErrorIs(t, <-q.await(ctx), context.DeadlineExceeded)
		require.Zero(t, q.waiting.Len())
	})
	test("a place is passed on", func(t *testing.T) {
		// The first caller is admitted and its context ends, both at the same time. Whichever it
		// notices, the second caller must be admitted.
		for range 50 {
			q, _ := fullQueue(t)
			ctx1, cancel := context.WithCancel(ctx)
			one, two := q.await(ctx1), q.await(ctx)
			cancel()
			q.mu.Lock()
			q.pending--
			q.admitWaiting()
			q.mu.Unlock()
			if <-one == nil { // it was admitted: it must use its room and free it again
				q.mu.Lock()
				q.admitWaiting()
				q.mu.Unlock()
			}
			require.True(t, returned(two))
		}
	})
	test("those that were let in go elsewhere", func(t *testing.T) {
		q, b := fullQueue(t)
		var waiting []<-chan error
		for range 7 {
			waiting = append(waiting, q.await(ctx))
		}
		q.retire(b, false)
		for _, done := range waiting {
			require.NoError(t, <-done)
		}
	})
	test("withdrawal", func(t *testing.T) {
		q := newTestQueue(1, 1000)
		q.writing = true
		seq, _ := q.put(10, nil)
		done := q.await(ctx)
		require.True(t, q.Withdraw(seq))
		require.True(t, returned(done))
	})
	test("bytes are taken", func(t *testing.T) {
		q := newTestQueue(10, 10)
		q.writing = true
		q.put(10, nil)
		done := q.await(ctx)
		require.False(t, returned(done))
		q.take(true)
		require.True(t, returned(done), "an answer may be long in coming")
	})
	test("all are dropped", func(t *testing.T) {
		q := newTestQueue(1, 1000)
		q.writing = true
		q.put(10, cancellable(true))
		done := q.await(ctx)
		b, cancelled := q.take(true)
		require.Nil(t, b)
		require.Len(t, cancelled, 1)
		require.True(t, returned(done), "nothing is pending, and nobody will wake it")
	})
	test("the connection is lost", func(t *testing.T) {
		q, _ := fullQueue(t)
		one, two := q.await(ctx), q.await(ctx)
		q.mu.Lock()
		q.state = Disconnected
		q.admitWaiting()
		q.mu.Unlock()
		require.True(t, returned(one))
		require.True(t, returned(two))
	})
}
