package queue

import (
	"time"

	"github.com/joomcode/redispipe/internal/timing"
	"github.com/joomcode/redispipe/redis"
)

// searchMost bounds how many batches are looked at for that of a request, so that a
// frozen server with many requests in flight costs them no more when they time out. A
// request behind these has been sent for less long than it is said then.
const searchMost = 1024

// Delay tells package redis where the time of a request has gone. It is not ok for one
// that was answered.
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

// setAhead sets what is before a request that begins at an offset.
func (q *Queue) setAhead(d *redis.Delay, seq, begin uint64) {
	b := q.head
	if b == nil {
		return
	}
	i := min(int(b.claimed.Load()), len(b.Items)-1)
	d.AheadRequests = int(seq - min(seq, b.Items[i].Seq))
	d.AheadBytes = int(begin - min(begin, b.offset+uint64(b.begin(i))))
}

// overloaded is the delay of the oldest request, for one that is refused.
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

// Oldest is what is to be known of the oldest batch in flight, to tell a server that has
// stopped.
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
