package queue

import "github.com/joomcode/redispipe/redis"

// Stats is a snapshot of what a queue counts.
type Stats struct {
	State State
	// Values, Refused, NotSent and Unknown count requests by their outcome.
	Values, Refused, NotSent, Unknown uint64
	// Writes counts batches; the others what was in them.
	Writes, WrittenRequests, WrittenBytes uint64
	ReadBytes                             uint64
	InFlight, Queued, QueuedBytes         int // requests and bytes, with the library's own
	WaitingForRoom                        int // callers
	Connects, Disconnects, FailedDials    uint64
	Stages                                [redis.StageCallback + 1]redis.Histogram // by redis.Stage
}

// Stats returns a snapshot.
func (q *Queue) Stats() (s Stats) {
	q.mu.Lock()
	defer q.mu.Unlock()
	s.State, s.Stages = q.state, q.stages
	s.Values, s.Refused, s.NotSent, s.Unknown = q.values, q.refused, q.notSent, q.unknown
	s.Writes, s.WrittenRequests, s.WrittenBytes = q.writes, q.writtenRequests, q.takenBytes
	s.ReadBytes = q.readBytes
	if q.session != nil {
		s.ReadBytes += uint64(q.session.Received())
	}
	if q.open != nil {
		s.Queued = len(q.open.Items) - q.open.withdrawn
	}
	s.InFlight, s.QueuedBytes, s.WaitingForRoom = q.pending-s.Queued, q.bytes, q.waiting.Len()
	s.Connects, s.Disconnects, s.FailedDials = q.connects, q.disconnects, q.failedDials
	return s
}
