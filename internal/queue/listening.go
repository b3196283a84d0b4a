package queue

import "time"

// listening keeps track of callers that have not been told to listen to their contexts: see
// wire.Caller. All of it is guarded by Queue.mu.
type listening struct {
	due    bool          // somebody calls Listen soon
	told   uint64        // the callers of requests before it have been told
	called time.Duration // when Listen was called last, or the clock was read
}

// tell tells the callers of b that have not been told. It reports whether one of them may have
// the right to read, and so could not be told.
func (l *listening) tell(b *Batch) (reads bool) {
	i := max(b.find(l.told), int(b.claimed.Load())-1) // the reading goroutine may still wait for the rest of a claimed reply
	for ; i < len(b.Items); i++ {
		if caller := b.Items[i].Caller; caller != nil && !caller.Listen() {
			reads = true
		}
	}
	l.told = max(l.told, b.Items[len(b.Items)-1].Seq+1)
	return reads
}
