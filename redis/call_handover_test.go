package redis

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/wire"
)

// handOver is one caller that waits, and the connection that gives it the right to read.
type handOver struct {
	call
	end           context.CancelFunc
	reply, broken chan struct{}
	told          chan struct{} // closed when the caller, who reads, is told to listen
	queued        bool          // it can be withdrawn until it is resolved

	mu              sync.Mutex // guards what follows
	given, passed   int        // times
	resolved, taken bool
	listens         bool // the caller heeds its context
	ended           bool
	got             ending
}

// answer resolves the call, unless it was withdrawn.
func (h *handOver) answer() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.taken && h.resolve() {
		h.resolved = true
	}
}

// Withdraw implements wire.Withdrawer.
func (h *handOver) Withdraw(uint64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.taken = h.queued && !h.resolved
	return h.taken
}

// ReadUntil implements wire.Reader, as a connection does.
func (h *handOver) ReadUntil(ctx context.Context, _ uint64, deaf bool) bool {
	done, told := ctx.Done(), h.told
	if deaf {
		done = nil
	}
	for {
		select {
		case <-h.reply:
			h.answer()
		case <-h.broken:
			h.mu.Lock()
			h.listens = true // after it has read a caller listens
			h.mu.Unlock()
		case <-told:
			done, told = ctx.Done(), nil
			continue
		case <-done:
			return false
		}
		h.PassRead()
		return true
	}
}

// PassRead implements wire.Reader.
func (h *handOver) PassRead() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.passed++
}

// The events of a hand-over.
var handOverEvents = map[byte]func(h *handOver){
	'g': func(h *handOver) { // the connection gives the right
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.given == h.passed && h.GiveRead(wire.ReadRight{Reader: h, Last: 1}) {
			h.given++
		}
	},
	'r': (*handOver).answer,            // another has read its reply
	'c': func(h *handOver) { h.end() }, // its context ends
	'p': func(h *handOver) { // the reply comes
		select {
		case h.reply <- struct{}{}:
		default: // it does not read
		}
	},
	't': func(h *handOver) { // it is told to listen
		reads := !h.Listen()
		h.mu.Lock()
		defer h.mu.Unlock()
		if reads && !h.listens {
			close(h.told)
		}
		h.listens = true
	},
	'b': func(h *handOver) { // the connection is lost
		select {
		case h.broken <- struct{}{}:
		default:
		}
	},
}

func (h *handOver) play(t *testing.T, events string, settled, heeded, deaf bool) {
	ctx, cancel := context.WithCancel(t.Context())
	h.call, h.end = newCall(), cancel
	h.reply, h.broken, h.told = make(chan struct{}), make(chan struct{}), make(chan struct{})
	if h.listens = !deaf; deaf {
		h.deaf = true
		h.state.Store(callDeaf)
	}
	go func() {
		h.got = waitOrLeave(&h.call, ctx, wire.Ticket{Queue: h, Heeded: heeded})
		h.ended = true
	}()
	for i := range events {
		if settled {
			synctest.Wait()
		}
		handOverEvents[events[i]](h)
	}
	synctest.Wait()
	reads := h.given > h.passed // until its reply comes, or the connection is lost
	require.Equal(t, h.ended, h.resolved && !reads || ctx.Err() != nil && h.listens && !heeded, "it waits for no more and no less than that")
	cancel()
	if deaf {
		handOverEvents['t'](h)
	}
	h.answer() // as whoever has its request does in any case
	synctest.Wait()
	require.True(t, h.ended)
	want := endAbandoned
	if h.resolved {
		want = endResolved
	} else if h.taken {
		want = endWithdrawn
	}
	require.Equal(t, want, h.got)
	require.Equal(t, h.given, h.passed, "each right is passed on once")
	require.Empty(t, h.signals)
	require.False(t, h.GiveRead(wire.ReadRight{Reader: h}), "it has gone")
}

// Whatever happens to a caller in whatever order, one event after the other or
// several before the caller runs: it ends with its result, or with its context, and
// passes each right that it was given on once.
func TestCallHandOver(t *testing.T) {
	const longest = 4
	var sequences []string
	for length, last := 1, []string{""}; length <= longest; length++ {
		var next []string
		for _, s := range last {
			for event := range handOverEvents {
				next = append(next, s+string(event))
			}
		}
		sequences, last = append(sequences, next...), next
	}
	for _, events := range sequences {
		for how := range 16 {
			h := &handOver{queued: how&1 != 0}
			settled, heeded, deaf := how&2 != 0, how&4 != 0, how&8 != 0
			if heeded && (deaf || strings.Contains(events, "g")) {
				continue // no connection whose replies callers read heeds contexts
			}
			if strings.Contains(events, "t") && !deaf {
				continue
			}
			name := fmt.Sprintf("%s queued=%t settled=%t heeded=%t deaf=%t", events, h.queued, settled, heeded, deaf)
			ok := t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { h.play(t, events, settled, heeded, deaf) })
			})
			if !ok {
				return
			}
		}
	}
}
