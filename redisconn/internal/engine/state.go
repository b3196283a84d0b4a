package engine

import "github.com/joomcode/errorx"

// State is the state of a connection:
//
//	           ┌──────────────── failure ───────────────┐
//	           ▼                                        │
//	disconnected ──── dialing ───► connecting ──── handshake done ──► connected
//	      │                             │                                 │
//	      └────────── Close, or the end of the context ──────► closed ◄───┘
//
// A failure while connecting also leads back to disconnected. Requests are accepted while
// connecting (they wait) and while connected; in the other states they fail at once and are not
// sent. [queue.Change] makes all changes.
type State uint8

// The states.
const (
	Disconnected State = iota
	Connecting
	Connected
	Closed
)

// Accepts reports whether requests are accepted.
func (s State) Accepts() bool { return s == Connecting || s == Connected }

// String implements fmt.Stringer.
func (s State) String() string {
	return [...]string{"disconnected", "connecting", "connected", "closed"}[s]
}

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

// Restored returns a channel that is closed as soon as the connection has a socket, or will accept
// no more requests. It may be closed already.
func (q *queue) Restored() <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.restored == nil {
		q.restored = make(chan struct{})
	}
	restored := q.restored
	q.tellRestored()
	return restored
}

// tellRestored closes the channel that Restored has returned, if the time for that has come.
func (q *queue) tellRestored() {
	if q.restored != nil && (q.state == Connected || q.state == Closed || q.draining != nil) {
		close(q.restored)
		q.restored = nil
	}
}
