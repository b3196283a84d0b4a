package redisconn

import (
	"context"
	"maps"
	"slices"
	"sync"
)

// rotation is what new credentials have to reach beside the shared connection and the
// pool. A handshake is in it from before it asks for its credentials until the server has
// taken them, a push socket from before the end of its handshake until its own end. So
// [Connection.Reauthenticate] finds every socket that may have older credentials.
type rotation struct {
	turn chan struct{} // holds the Reauthenticate that is under way

	mu         sync.Mutex // guards the rest
	handshakes map[chan struct{}]struct{}
	pushes     map[*PushSocket]struct{}
}

func newRotation() rotation {
	return rotation{
		turn:       make(chan struct{}, 1),
		handshakes: map[chan struct{}]struct{}{},
		pushes:     map[*PushSocket]struct{}{},
	}
}

// begin says that credentials are about to be asked for. over says that the server has
// taken or refused them, or will never get them.
func (r *rotation) begin() (over func()) {
	h := make(chan struct{})
	r.mu.Lock()
	defer r.mu.Unlock()
	r.handshakes[h] = struct{}{}
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.handshakes, h)
		close(h)
	}
}

// settle waits until all handshakes are over that have begun, or ctx is done. DialTimeout
// bounds each of them.
func (r *rotation) settle(ctx context.Context) error {
	r.mu.Lock()
	begun := slices.Collect(maps.Keys(r.handshakes))
	r.mu.Unlock()
	for _, h := range begun {
		select {
		case <-h:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// addPush and removePush say that a push socket is open, and is not any more.
func (r *rotation) addPush(p *PushSocket) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pushes[p] = struct{}{}
}

func (r *rotation) removePush(p *PushSocket) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.pushes, p)
}

// openPushes returns the push sockets that are open.
func (r *rotation) openPushes() []*PushSocket {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Keys(r.pushes))
}
