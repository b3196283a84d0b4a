package engine

import "github.com/joomcode/errorx"

// Change changes the state. If the new state is [Connected], s is the session. If it is
// [Disconnected], why is the error that has ended the connection. A closed queue stays closed. If
// Change returns true, requests have been waiting: the caller must wake the writer of s, which has
// the right to write.
func (q *queue) Change(to State, s *Session, why *errorx.Error) (start bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.state != Closed {
		q.countChange(to)
		if q.session != nil {
			q.session.loopKeeps = q.reading == readLoop
		}
		q.state, q.session, q.why = to, s, why
		q.reading = readLoop // the loop of a new session starts with the right to read
		start = s != nil && q.open != nil && !q.writing
		q.writing = q.writing || start
	}
	if !q.state.Accepts() {
		q.admitWaiting()
	}
	q.tellRestored()
	return start
}

// countChange counts a change of state.
func (q *queue) countChange(to State) {
	switch {
	case to == Connected:
		q.stats.Connects++
	case q.state == Connected && to == Disconnected:
		q.stats.Disconnects++
	case q.state == Connecting && to == Disconnected:
		q.stats.FailedDials++
	}
	if q.session != nil {
		q.stats.ReadBytes += uint64(q.session.Received())
	}
}

// State returns the state.
func (q *queue) State() State {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.state
}

// abort waits until nobody writes, and returns what is left: the batches in flight and the open one. The
// state must be one that accepts no requests.
func (q *queue) abort() (inflight, open *batch) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.awaitReleaseLocked()
	inflight, open = q.head, q.open
	q.head, q.tail, q.open = nil, nil, nil
	q.pending, q.internal, q.bytes, q.lingering, q.concurrency = 0, 0, 0, 0, 0
	q.admitWaiting()
	return inflight, open
}

// trim reports whether the connection is idle: since the last trim at most one request has entered,
// a heartbeat. If so, it drops the memory that is kept for reuse.
func (q *queue) trim() (idle bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := &q.spares
	if idle = q.seq-s.trimmed <= 1; idle {
		s.batches, s.buffers, s.bytes, q.last = nil, nil, 0, nil
	}
	s.trimmed = q.seq
	return idle
}
