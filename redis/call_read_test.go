package redis

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/send"
)

// readRight is a waiting caller, and the connection that gives it the right to read.
type readRight struct {
	call
	end           context.CancelFunc
	reply, broken chan struct{}
	told          chan struct{} // closed when the caller, which reads, is told to listen
	queued        bool          // the request can be withdrawn until it is resolved

	mu              sync.Mutex // guards the fields below
	given, passed   int        // how often the right to read was given and passed on
	resolved, taken bool
	listens         bool // the caller listens to its context
	ended           bool
	got             ending
}

// answer resolves the call, unless it was withdrawn.
func (r *readRight) answer() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.taken && r.resolve() {
		r.resolved = true
	}
}

// Withdraw implements send.Withdrawer.
func (r *readRight) Withdraw(uint64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.taken = r.queued && !r.resolved
	return r.taken
}

// ReadUntil implements send.Reader, as a connection does.
func (r *readRight) ReadUntil(ctx context.Context, _ uint64, deaf bool) bool {
	done := ctx.Done()
	if deaf {
		done = r.told
	}
	select {
	case <-r.reply:
		r.answer()
	case <-r.broken:
		r.mu.Lock()
		r.listens = true // a caller that has read listens
		r.mu.Unlock()
	case <-done:
		return false
	}
	r.PassRead()
	return true
}

// PassRead implements send.Reader.
func (r *readRight) PassRead() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.passed++
}

// readRightEvents are the events that may happen to a caller.
var readRightEvents = map[byte]func(r *readRight){
	'g': func(r *readRight) { // the connection gives the caller the right to read
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.given == r.passed && r.GiveRead(send.ReadRight{Reader: r, Last: 1}) {
			r.given++
		}
	},
	'r': (*readRight).answer,            // another goroutine has read the reply
	'c': func(r *readRight) { r.end() }, // the context ends
	'p': func(r *readRight) { // the reply arrives
		select {
		case r.reply <- struct{}{}:
		default: // the caller does not read
		}
	},
	't': func(r *readRight) { // the caller is told to listen
		reads := !r.Listen()
		r.mu.Lock()
		defer r.mu.Unlock()
		if reads && !r.listens {
			close(r.told)
		}
		r.listens = true
	},
	'b': func(r *readRight) { // the connection is lost
		select {
		case r.broken <- struct{}{}:
		default:
		}
	},
}

func (r *readRight) play(t *testing.T, events string, settled, heeded, deaf bool) {
	ctx, cancel := context.WithCancel(t.Context())
	r.call, r.end = newCall(), cancel
	r.reply, r.broken, r.told = make(chan struct{}), make(chan struct{}), make(chan struct{})
	if r.listens = !deaf; deaf {
		r.deaf = true
		r.state.Store(callDeaf)
	}
	go func() {
		r.got = waitOrLeave(&r.call, ctx, send.Ticket{Queue: r, Heeded: heeded})
		r.ended = true
	}()
	for i := range events {
		if settled {
			synctest.Wait()
		}
		readRightEvents[events[i]](r)
	}
	synctest.Wait()
	reads := r.given > r.passed // the caller reads until its reply arrives or the connection is lost
	require.Equal(t, r.ended, r.resolved && !reads || ctx.Err() != nil && r.listens && !heeded, "it waits for no more and no less than that")
	cancel()
	if deaf {
		readRightEvents['t'](r)
	}
	r.answer() // the connection resolves the call at last
	synctest.Wait()
	require.True(t, r.ended)
	want := endAbandoned
	if r.resolved {
		want = endResolved
	} else if r.taken {
		want = endWithdrawn
	}
	require.Equal(t, want, r.got)
	require.Equal(t, r.given, r.passed, "each right is passed on once")
	require.Empty(t, r.signals)
	require.False(t, r.GiveRead(send.ReadRight{Reader: r}), "it has gone")
}

// All sequences of events are tried, one at a time, and several before the caller runs. The caller
// ends with its result or its context, and passes on each right to read exactly once.
func TestCallRead(t *testing.T) {
	const longest = 4
	var sequences []string
	for length, last := 1, []string{""}; length <= longest; length++ {
		var next []string
		for _, s := range last {
			for event := range readRightEvents {
				next = append(next, s+string(event))
			}
		}
		sequences, last = append(sequences, next...), next
	}
	for _, events := range sequences {
		for how := range 16 {
			r := &readRight{queued: how&1 != 0}
			settled, heeded, deaf := how&2 != 0, how&4 != 0, how&8 != 0
			if heeded && (deaf || strings.Contains(events, "g")) {
				continue // if callers read a connection's replies, the connection watches no contexts
			}
			if strings.Contains(events, "t") && !deaf {
				continue
			}
			name := fmt.Sprintf("%s queued=%t settled=%t heeded=%t deaf=%t", events, r.queued, settled, heeded, deaf)
			ok := t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { r.play(t, events, settled, heeded, deaf) })
			})
			if !ok {
				return
			}
		}
	}
}
