package dial

import (
	"context"
	"maps"
	"slices"
	"sync"
)

// handshakes are the handshakes under way. Each is counted from before it asks for its
// credentials until the server has accepted them, so that Reauthenticate can wait for all
// that may still use older ones.
type handshakes struct {
	mu       sync.Mutex // guards the rest
	underway map[chan struct{}]struct{}
}

func (h *handshakes) begin() (over func()) {
	ended := make(chan struct{})
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.underway == nil {
		h.underway = map[chan struct{}]struct{}{}
	}
	h.underway[ended] = struct{}{}
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.underway, ended)
		close(ended)
	}
}

func (h *handshakes) settle(ctx context.Context) error {
	h.mu.Lock()
	begun := slices.Collect(maps.Keys(h.underway))
	h.mu.Unlock()
	for _, ended := range begun {
		select {
		case <-ended:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
