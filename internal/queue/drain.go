package queue

// Drain admits no more requests. It returns a channel that is closed when only the
// library's own requests are pending.
func (q *Queue) Drain() <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.draining == nil {
		q.draining = make(chan struct{})
	}
	q.letIn()
	return q.draining
}

// Left counts the pending requests, without the library's own: those that are not sent,
// and those that may have run.
func (q *Queue) Left() (notSent, unknown int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.open != nil {
		notSent = len(q.open.Items) - q.open.withdrawn - q.open.own
	}
	return notSent, q.pending - q.gate.own - notSent
}
