package redisconn

import (
	"time"

	"github.com/joomcode/redispipe/internal/timing"
	"github.com/joomcode/redispipe/redis"
)

// startTimingLocked measures a batch that is taken.
func (q *queue) startTimingLocked(b *batch) {
	b.Opened, b.Taken = q.opened, timing.Clock()
	if b.Ready = q.postponed.since; b.Ready == 0 {
		b.Ready = b.Taken
	}
	b.lastSeq = b.items[len(b.items)-1].seq
	b.offset = q.takenBytes
	q.takenBytes += uint64(len(b.buf))
	q.takenSeq = b.lastSeq + 1
	var calls *timing.Callbacks
	if q.session != nil {
		calls = q.session.calls
	}
	b.Take(calls)
}

// searchMost bounds how many batches are looked at for that of a request, so that a
// frozen server with many requests in flight costs them no more when they time out. A
// request behind these has been sent for less long than it is said then.
const searchMost = 1024

// Delay tells package redis where the time of a request has gone. It is not ok for one
// that was answered.
func (q *queue) Delay(seq uint64) (d redis.Delay, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := timing.Clock()
	if seq >= q.takenSeq {
		d = q.openDelayLocked(now)
		q.setAheadLocked(&d, seq, q.takenBytes+uint64(q.bytes))
		return d, true
	}
	b := q.head
	for i := 0; b != nil && b.lastSeq < seq && i < searchMost; i++ {
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
	q.setAheadLocked(&d, seq, begin)
	return d, true
}

// openDelayLocked is the delay of the open batch.
func (q *queue) openDelayLocked(now time.Duration) (d redis.Delay) {
	ready := now
	if q.postponed.since != 0 {
		ready = q.postponed.since
	}
	return redis.Delay{Queue: ready - q.opened, Wire: now - ready}
}

// setAheadLocked sets what is before a request that begins at an offset.
func (q *queue) setAheadLocked(d *redis.Delay, seq, begin uint64) {
	b := q.head
	if b == nil {
		return
	}
	i := min(int(b.claimed.Load()), len(b.items)-1)
	d.AheadRequests = int(seq - min(seq, b.items[i].seq))
	d.AheadBytes = int(begin - min(begin, b.offset+uint64(b.begin(i))))
}

// overloadedLocked is the delay of the oldest request, for one that is refused.
func (q *queue) overloadedLocked() redis.Delay {
	d := q.head.Delay(timing.Clock())
	q.setAheadLocked(&d, q.seq, q.takenBytes+uint64(q.bytes))
	return d
}

// leftDelay is the delay of a batch that was left when the connection was lost. oldest
// is the oldest such batch.
func (q *queue) leftDelay(b, oldest *batch) (d redis.Delay) {
	now := timing.Clock()
	if b.Taken == 0 {
		q.mu.Lock()
		defer q.mu.Unlock()
		return q.openDelayLocked(now)
	}
	d = b.Delay(now)
	d.AheadRequests = int(b.items[0].seq - oldest.items[0].seq)
	d.AheadBytes = int(b.offset - oldest.offset)
	return d
}
