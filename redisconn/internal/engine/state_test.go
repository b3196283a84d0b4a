package engine

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Callers that wait for a connection continue when there is one, and when the queue is closed or
// drained.
func TestRestored(t *testing.T) {
	over := func(c <-chan struct{}) bool {
		select {
		case <-c:
			return true
		default:
			return false
		}
	}
	for name, end := range map[string]func(q *queue){
		"connected": func(q *queue) { q.Change(Connected, nil, nil) },
		"closed":    func(q *queue) { q.Change(Closed, nil, nil) },
		"draining":  func(q *queue) { q.Drain() },
	} {
		t.Run(name, func(t *testing.T) {
			q := newQueue(Opts{MaxRequests: 1, MaxBytes: 1})
			q.Change(Disconnected, nil, nil)
			first, second := q.Restored(), q.Restored()
			q.Change(Connecting, nil, nil)
			require.False(t, over(first), "it is still dialing")
			end(q)
			require.True(t, over(first))
			require.True(t, over(second))
			require.True(t, over(q.Restored()), "it is so already")
		})
	}
}
