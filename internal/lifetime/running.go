package lifetime

import "sync"

// Running counts calls that are under way, so that a shutdown can wait for them. The zero value
// is ready.
type Running struct {
	mu    sync.Mutex // guards the fields below
	calls int
	ended chan struct{} // set by Shut; closed when no call is under way
}

// Begin counts a call, which must then call End. After Shut it counts nothing and returns false.
func (r *Running) Begin() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended != nil {
		return false
	}
	r.calls++
	return true
}

// End ends a call.
func (r *Running) End() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.calls--; r.calls == 0 && r.ended != nil {
		close(r.ended)
	}
}

// Shut makes Begin refuse further calls. The returned channel is closed when no call is under way.
func (r *Running) Shut() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended == nil {
		r.ended = make(chan struct{})
		if r.calls == 0 {
			close(r.ended)
		}
	}
	return r.ended
}

// Calls returns the number of calls under way.
func (r *Running) Calls() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.calls
}
