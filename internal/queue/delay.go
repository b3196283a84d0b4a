package queue

import (
	"time"

	"github.com/joomcode/redispipe/internal/timing"
	"github.com/joomcode/redispipe/redis"
)

// searchMost bounds how many batches are searched for a request, so that the search stays
// short when many requests to a frozen server time out. A request beyond them was sent
// later than its delay says.
const searchMost = 1024

// Delay returns the delay of a request; ok is false if it was answered.
func (q *Queue) Delay(seq uint64) (d redis.Delay, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := timing.Clock()
	if seq >= q.takenSeq {
		d = q.openDelay(now)
		q.setAhead(&d, seq, q.takenBytes+uint64(q.bytes))
		return d, true
	}
	b := q.head
	for i := 0; b != nil && b.lastSeq < seq && i < searchMost; i++ {
		b = b.Next
	}
	if b == nil || b == q.head && seq < b.Items[min(int(b.claimed.Load()), len(b.Items)-1)].Seq {
		return d, false
	}
	d = b.Delay(now)
	begin := b.offset
	if i := b.find(seq); i < len(b.Items) {
		begin += uint64(b.begin(i))
	}
	q.setAhead(&d, seq, begin)
	return d, true
}

// openDelay is the delay of the open batch.
func (q *Queue) openDelay(now time.Duration) (d redis.Delay) {
	ready := now
	if q.postponed.since != 0 {
		ready = q.postponed.since
	}
	return redis.Delay{Queue: ready - q.opened, Wire: now - ready}
}

// setAhead sets the requests and bytes before a request that begins at an offset.
func (q *Queue) setAhead(d *redis.Delay, seq, begin uint64) {
	b := q.head
	if b == nil {
		return
	}
	i := min(int(b.claimed.Load()), len(b.Items)-1)
	d.AheadRequests = int(seq - min(seq, b.Items[i].Seq))
	d.AheadBytes = int(begin - min(begin, b.offset+uint64(b.begin(i))))
}

// overloaded is the delay of the oldest request, for the error of a refused one.
func (q *Queue) overloaded() redis.Delay {
	d := q.head.Delay(timing.Clock())
	q.setAhead(&d, q.seq, q.takenBytes+uint64(q.bytes))
	return d
}

// LeftDelay is the delay of a batch that was left when the connection was lost. oldest
// is the oldest such batch.
func (q *Queue) LeftDelay(b, oldest *Batch) (d redis.Delay) {
	now := timing.Clock()
	if b.Taken == 0 {
		q.mu.Lock()
		defer q.mu.Unlock()
		return q.openDelay(now)
	}
	d = b.Delay(now)
	d.AheadRequests = int(b.Items[0].Seq - oldest.Items[0].Seq)
	d.AheadBytes = int(b.offset - oldest.offset)
	return d
}

// Oldest describes the oldest batch in flight, by which a server that has stopped is
// noticed.
type Oldest struct {
	Seq    uint64 // of its first request
	Taken  time.Time
	Blocks time.Duration
}

// Oldest describes the oldest batch in flight, if there is one.
func (q *Queue) Oldest() (o Oldest, waits bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	b := q.head
	if b == nil {
		return o, false
	}
	return Oldest{b.Items[0].Seq, timing.At(b.Taken), b.Blocks}, true
}
