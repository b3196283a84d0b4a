package redis

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/send"
)

// stalling is the queue of a server that stalls when stall ends. It gives callers no right to read,
// or gives it to each.
type stalling struct {
	readRight
	stall context.Context
	take  bool // Withdraw takes a request back
	full  int  // how many times Leave refuses
	asked int
}

func (s *stalling) Withdraw(uint64) bool { return s.take }

func (s *stalling) Stalled() context.Context {
	if s.asked > s.full {
		return context.Background()
	}
	return s.stall
}

func (s *stalling) Leave() bool {
	s.asked++
	return s.asked > s.full
}

// ReadUntil waits for a reply, which never comes.
func (s *stalling) ReadUntil(ctx context.Context, _ uint64, deaf bool) bool {
	if deaf {
		<-s.told
		return false
	}
	ended := make(chan struct{})
	context.AfterFunc(ctx, func() { close(ended) })
	<-ended
	return false
}

// If a server stalls, the request is sent again. If the first attempt may have run, and no later
// one was sent, the outcome is unknown.
func TestMoves(t *testing.T) {
	for how := range 64 {
		deaf, reads, taken, refused, late := how&1 != 0, how&2 != 0, how&4 != 0, how&8 != 0, how&16 != 0
		endless := how&32 != 0
		t.Run(fmt.Sprintf("deaf=%t reads=%t taken=%t refused=%t late=%t endless=%t", deaf, reads, taken, refused, late, endless), func(t *testing.T) {
			stall, end := context.WithCancel(t.Context())
			queue := &stalling{stall: stall, take: taken, readRight: readRight{told: make(chan struct{})}}
			attempts := 0
			var first Future
			s := &ownSender{slots: true, encoded: func(r *send.Request, cb Future, n uint64) {
				if attempts++; attempts > 1 {
					if refused {
						cb.Resolve(errDown, n)
					} else {
						cb.Resolve("value", n)
					}
					return
				}
				first, r.Ticket = cb, send.Ticket{Queue: queue, Tells: deaf, Moves: true}
				caller := r.Caller
				if reads {
					require.True(t, caller.GiveRead(send.ReadRight{Reader: queue, Last: 1}))
				}
				go func() {
					if deaf && !caller.Listen() {
						close(queue.told)
					}
					end()
				}()
			}}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if endless {
				ctx = context.Background()
			}
			res := SyncCtx{s}.Do(ctx, "GET", "key")
			assert.Equal(t, 2, attempts)
			if reads {
				assert.Equal(t, 1, queue.passed)
			}
			switch {
			case !refused:
				assert.Equal(t, "value", res)
			case taken:
				assert.Equal(t, OutcomeNotSent, OutcomeOf(res))
			default:
				assert.Equal(t, OutcomeUnknown, OutcomeOf(res))
			}
			if late && !taken {
				first.Resolve("late", 0) // the first server answers after all
			}
		})
	}
}

// If a server stalls while too many requests are being sent again, the caller waits on, and leaves
// when it may.
func TestMovesWithinBudget(t *testing.T) {
	for _, reads := range []bool{false, true} {
		stall, end := context.WithCancel(t.Context())
		end()
		queue := &stalling{stall: stall, full: 3, readRight: readRight{told: make(chan struct{})}}
		attempts := 0
		s := &ownSender{encoded: func(r *send.Request, cb Future, n uint64) {
			if attempts++; attempts > 1 {
				cb.Resolve("value", n)
				return
			}
			r.Ticket = send.Ticket{Queue: queue, Moves: true}
			if reads {
				require.True(t, r.Caller.GiveRead(send.ReadRight{Reader: queue, Last: 1}))
			}
		}}
		require.Equal(t, "value", SyncCtx{s}.Do(t.Context(), "GET", "key"))
		require.Equal(t, 2, attempts)
		require.Equal(t, 4, queue.asked)
	}
}

// If the queue of the next attempt is full, the caller waits for room. If its context ends before
// there is any, the outcome is unknown, because the first attempt may have run.
func TestMovedWaitsForRoom(t *testing.T) {
	for _, room := range []bool{true, false} {
		stall, end := context.WithCancel(t.Context())
		ctx, cancel := context.WithCancel(t.Context())
		q := fullQueue{make(chan struct{})}
		attempts := 0
		s := &ownSender{encoded: func(r *send.Request, cb Future, n uint64) {
			switch attempts++; attempts {
			case 1:
				r.Ticket = send.Ticket{Queue: &stalling{stall: stall}, Moves: true}
				end()
			case 2:
				if cb.Resolve(q.err(), n); room {
					close(q.open)
				} else {
					cancel()
				}
			default:
				cb.Resolve("value", n)
			}
		}}
		res := SyncCtx{s}.Do(ctx, "GET", "key")
		if room {
			assert.Equal(t, "value", res)
			assert.Equal(t, 3, attempts)
		} else {
			assert.Equal(t, OutcomeUnknown, OutcomeOf(res))
			assert.Equal(t, 2, attempts)
		}
		cancel()
	}
}

// A request that decodes into its caller's buffer is not sent to another server, because the
// stalled server's late reply would still be written into the buffer. If the ticket says that the
// sender decodes the reply elsewhere, the request may move.
func TestBufferDoesNotMove(t *testing.T) {
	for _, tt := range []struct {
		size  int
		apart bool
		want  int
	}{{0, false, 2}, {8, false, 1}, {8, true, 2}} {
		stall, end := context.WithCancel(t.Context())
		attempts := 0
		s := &ownSender{encoded: func(r *send.Request, cb Future, n uint64) {
			if attempts++; attempts > 1 {
				cb.Resolve([]byte("value"), n)
				return
			}
			r.Ticket = send.Ticket{Queue: &stalling{stall: stall}, Moves: true, Apart: tt.apart}
			end()
			if tt.want == 1 {
				time.AfterFunc(time.Millisecond, func() { cb.Resolve([]byte("value"), n) })
			}
		}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		value := make([]byte, 0, tt.size)
		require.NoError(t, SyncCtx{s}.DoInto(ctx, &value, "GET", "key"))
		assert.Equal(t, "value", string(value))
		assert.Equal(t, tt.want, attempts)
	}
}

// A caller waits until its context ends if its request must not move, or if its server does not
// stall.
func TestDoesNotMove(t *testing.T) {
	for _, moves := range []bool{false, true} {
		t.Run(fmt.Sprint(moves), func(t *testing.T) {
			stall, end := context.WithCancel(t.Context())
			if !moves {
				end()
			}
			defer end()
			attempts := 0
			ctx, cancel := context.WithCancel(t.Context())
			s := &ownSender{encoded: func(r *send.Request, _ Future, _ uint64) {
				attempts++
				r.Ticket = send.Ticket{Queue: &stalling{stall: stall}, Moves: moves}
				time.AfterFunc(time.Millisecond, cancel)
			}}
			require.ErrorIs(t, Err(SyncCtx{s}.Do(ctx, "GET", "key")), context.Canceled)
			require.Equal(t, 1, attempts)
		})
	}
}

// Package context calls the function of AfterFunc once, unless it was stopped before.
func TestPatience(t *testing.T) {
	for _, stalls := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			stalled, stall := context.WithCancel(t.Context())
			p := &patience{ctx, stalled}
			calls := 0
			stop := context.AfterFunc(p, func() { calls++ })
			early := context.AfterFunc(p, func() { calls++ })
			require.True(t, early())
			require.NoError(t, p.Err())
			if stalls {
				stall()
			}
			cancel()
			stall()
			synctest.Wait()
			require.Equal(t, 1, calls)
			require.False(t, stop())
			require.Error(t, p.Err())
		})
	}
}
