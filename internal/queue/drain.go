package queue

// Drain lets nothing in any more, and returns what is closed when nothing is
// pending but the library's own.
func (q *Queue) Drain() <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.draining == nil {
		q.draining = make(chan struct{})
	}
	q.letIn()
	return q.draining
}

// Left counts the requests that are pending, without the library's own: those that are
// not sent, and those of which it is not known whether they have run.
func (q *Queue) Left() (notSent, unknown int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.open != nil {
		notSent = len(q.open.Items) - q.open.withdrawn - q.open.own
	}
	return notSent, q.pending - q.gate.own - notSent
}
