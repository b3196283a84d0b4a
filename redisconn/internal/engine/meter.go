package engine

import (
	"time"

	"github.com/joomcode/redispipe/internal/histogram"
	"github.com/joomcode/redispipe/internal/timing"
	"github.com/joomcode/redispipe/redis"
)

// meter measures and counts: to decide when a batch is written, for the delays of requests, and for
// statistics. All fields are guarded by queue.mu.
type meter struct {
	concurrency int // an estimate of how many requests are pending at a time: see smooth
	// everywhere is the concurrency at all servers together, or zero if the callers send only to
	// this server.
	everywhere int
	// opened is when the open batch was opened. If there is none, it is when the last one was
	// opened.
	opened time.Duration
	// minTrip is the shortest time for which a recent batch was in flight.
	minTrip time.Duration
	// avgLatency is the average time for which recent requests were pending.
	avgLatency time.Duration
	// requestBytes is the average size of recent requests together with their replies. received is
	// the number of bytes that the session had received when the last batch was answered.
	requestBytes int
	received     int64
	// takenSeq and takenBytes count the requests and bytes that were taken so far.
	takenSeq, takenBytes uint64
	postponed            postponed
	// pause is the number of further batches that are not postponed, because postponing has not
	// paid.
	pause int
	// sinceIdle is the number of batches taken since nothing was in flight.
	sinceIdle int

	stats        Counts
	stages       [redis.StageCallback + 1]histogram.Sparse // see Stats.Stages
	lastCallback time.Duration                             // see countLastCallback
	lastRequests int
	lastRetired  time.Duration
}

// Counts are the counters of a queue.
type Counts struct {
	// Values, Refused, NotSent and Unknown count requests by their outcome.
	Values, Refused, NotSent, Unknown uint64
	// Writes counts written batches. WrittenRequests and WrittenBytes count what was in them.
	Writes, WrittenRequests, WrittenBytes uint64
	ReadBytes                             uint64 // a snapshot includes the bytes of the current session
	Connects, Disconnects, FailedDials    uint64
}

// Stats is a snapshot of a queue.
type Stats struct {
	Counts
	State                         State
	InFlight, Queued, QueuedBytes int                                      // requests and bytes, including the library's own
	WaitingForRoom                int                                      // callers that wait for room
	Stages                        [redis.StageCallback + 1]redis.Histogram // by redis.Stage
}

// Stats returns a snapshot.
func (q *queue) Stats() (s Stats) {
	q.mu.Lock()
	defer q.mu.Unlock()
	s.Counts = q.stats
	for stage := range q.stages {
		s.Stages[stage] = q.stages[stage].Histogram()
	}
	s.State, s.WrittenBytes = q.state, q.takenBytes
	if q.session != nil {
		s.ReadBytes += uint64(q.session.Received())
	}
	if q.open != nil {
		s.Queued = len(q.open.items) - q.open.withdrawn
	}
	s.InFlight, s.QueuedBytes, s.WaitingForRoom = q.pending-s.Queued, q.bytes+q.held.bytes, q.waiting.Len()
	s.Queued += q.held.requests
	return s
}

// searchMost bounds how many batches Delay searches for a request, so that the search stays short
// when many requests to a frozen server time out. If the request is in none of them, Delay uses the
// times of an earlier batch, so it reports a longer wait than there was.
const searchMost = 1024

// Delay returns the delay of a request; ok is false if it was answered.
func (q *queue) Delay(seq uint64) (d redis.Delay, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := timing.Clock()
	if seq >= q.takenSeq {
		d = q.openDelay(now)
		q.setAhead(&d, seq, q.takenBytes+uint64(q.bytes))
		return d, true
	}
	b := q.head
	for i := 0; b != nil && b.lastSeq() < seq && i < searchMost; i++ {
		b = b.next
	}
	if b == nil || b == q.head && seq < b.items[min(int(b.claimed.Load()), len(b.items)-1)].seq {
		return d, false
	}
	d = b.Delay(now)
	begin := b.offset
	if i := b.find(seq); i < len(b.items) {
		begin += uint64(b.begin(i))
	}
	q.setAhead(&d, seq, begin)
	return d, true
}

// openDelay returns the delay of the requests in the open batch.
func (q *queue) openDelay(now time.Duration) (d redis.Delay) {
	ready := now
	if q.postponed.since != 0 {
		ready = q.postponed.since
	}
	return redis.Delay{Queue: ready - q.opened, Wire: now - ready}
}

// setAhead sets how many requests and bytes are ahead of request seq, whose bytes begin at offset
// begin.
func (q *queue) setAhead(d *redis.Delay, seq, begin uint64) {
	b := q.head
	if b == nil {
		return
	}
	i := min(int(b.claimed.Load()), len(b.items)-1)
	d.AheadRequests = int(seq - min(seq, b.items[i].seq))
	d.AheadBytes = int(begin - min(begin, b.offset+uint64(b.begin(i))))
}

// overloaded returns the delay of the oldest request, for the error of a request that can't meet
// its deadline.
func (q *queue) overloaded() redis.Delay {
	d := q.head.Delay(timing.Clock())
	q.setAhead(&d, q.seq, q.takenBytes+uint64(q.bytes))
	return d
}

// leftDelay returns the delay of a batch that was in flight when the connection was lost. oldest is
// the oldest such batch.
func (q *queue) leftDelay(b, oldest *batch) (d redis.Delay) {
	now := timing.Clock()
	if b.Taken == 0 {
		q.mu.Lock()
		defer q.mu.Unlock()
		return q.openDelay(now)
	}
	d = b.Delay(now)
	d.AheadRequests = int(b.items[0].seq - oldest.items[0].seq)
	d.AheadBytes = int(b.offset - oldest.offset)
	return d
}

// oldest describes the oldest request in flight. It shows whether the server has stopped.
type oldest struct {
	seq     uint64
	taken   time.Time     // when its batch was taken
	writing bool          // its batch is not completely written
	blocks  time.Duration // how long its batch may block the server
}

// oldest describes the oldest request in flight, if there is one.
func (q *queue) oldest() (o oldest, waits bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	b := q.head
	if b == nil {
		return o, false
	}
	i := min(int(b.claimed.Load()), len(b.items)-1)
	return oldest{b.items[i].seq, timing.At(b.Taken), !b.written, b.blocks}, true
}

// Flight describes the progress of the requests in flight. since is when the oldest one was taken,
// on timing.Clock, or 0 if there is none. mark changes whenever bytes arrive. pending is the number
// of pending requests, and minTrip the shortest time for which a recent batch was in flight.
func (q *queue) Flight() (since time.Duration, mark uint64, pending int, minTrip time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.session != nil {
		mark = uint64(q.session.Received())
		if q.head != nil {
			since = q.head.Taken
		}
	}
	return since, mark, q.pending, q.minTrip
}

// leastInFlight updates the estimate of the time for which a batch is in flight if the server is
// idle. The estimate falls to a shorter time at once, and rises slowly.
func leastInFlight(old, latest time.Duration) time.Duration {
	if old == 0 {
		return latest
	}
	return min(latest, old+old/64+1)
}

// measure updates requestBytes after b was answered.
func (q *queue) measure(b *batch) {
	if q.session == nil || len(b.items) == 0 {
		return
	}
	received := q.session.Received()
	replies := received - q.received
	if replies < 0 { // another session
		replies = received
	}
	q.received = received
	size := (replies + int64(b.items[len(b.items)-1].end)) / int64(len(b.items))
	latest := int(min(size, enoughBytes)) // bounded, so that a very large reply does not count for long
	q.requestBytes += (latest - q.requestBytes) / 8
}

// countLastCallback adds the time that the last retired batch has spent in users' futures. It is
// called after the last future of that batch was resolved.
func (q *queue) countLastCallback() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.stages[redis.StageCallback].Add(q.lastCallback+timing.Clock()-q.lastRetired, q.lastRequests)
	q.lastRequests = 0
}
