package redisconn

import (
	"sync/atomic"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/redis"
)

// Where the time of requests goes is measured for each batch: when the first request
// opens it, when it is taken to be written, when its answer begins, and when it is
// retired. What the futures of users take in between is measured by callbackClock.

var epoch = time.Now()

// clock returns the time since the process began. It takes half the time of time.Now.
func clock() time.Duration { return time.Since(epoch) }

// callbackClock measures for how long futures of users hold the reader. It runs from
// the first such future until the reader waits for more bytes, or passes the right to
// read on. Only the holder of that right may start and stop it. A nil one, of a socket
// without batches, stands still.
type callbackClock struct {
	since atomic.Int64 // when it was started, or 0
	total atomic.Int64 // what it has run before
}

func (c *callbackClock) start() {
	if c != nil && c.since.Load() == 0 {
		c.since.Store(int64(clock()))
	}
}

func (c *callbackClock) stop() {
	if c == nil {
		return
	}
	if since := c.since.Load(); since != 0 {
		c.total.Add(int64(clock()) - since)
		c.since.Store(0)
	}
}

// elapsed returns for how long it has run up to now.
func (c *callbackClock) elapsed(now time.Duration) time.Duration {
	if c == nil {
		return 0
	}
	total, since := c.total.Load(), c.since.Load()
	if since != 0 {
		total += max(0, int64(now)-since)
	}
	return time.Duration(total)
}

// timing is what is measured of a batch, or of what is sent on a connection of its own.
type timing struct {
	opened time.Duration // when its first request entered
	// ready is when it could be written: when it was taken or, if it was postponed, began
	// to wait for the answer to what was in flight.
	ready, taken time.Duration
	// lastSeq is the sequence number of its last request.
	lastSeq uint64
	offset  uint64 // bytes that were taken before
	calls   *callbackClock
	called  time.Duration // elapsed of calls when the batch was taken

	// firstByte is when the answer began, or 0. It is set after calledAtFirst, elapsed
	// then: whoever has seen it may read that.
	firstByte     atomic.Int64
	calledAtFirst time.Duration
}

// noteFirstByte notes that the first byte of the answer is there.
func (t *timing) noteFirstByte() {
	now := clock()
	t.calledAtFirst = t.calls.elapsed(now)
	t.firstByte.Store(int64(now))
}

// delay returns where the time of a batch that was taken has gone up to now.
func (t *timing) delay(now time.Duration) redis.Delay {
	d := redis.Delay{Queue: t.ready - t.opened}
	called := t.calls.elapsed(now)
	first := time.Duration(t.firstByte.Load())
	if first == 0 {
		d.Callback = min(called-t.called, now-t.taken)
		d.Wire = now - t.ready - d.Callback
		return d
	}
	held := min(t.calledAtFirst-t.called, first-t.taken)
	within := min(called-t.calledAtFirst, now-first)
	d.Wire = first - t.ready - held
	d.Callback = held + within
	d.Reading = now - first - within
	return d
}

// noteWrite notes that what is sent on a connection of its own is about to be written.
func (t *timing) noteWrite() {
	t.taken = clock()
	t.ready, t.called = t.taken, t.calls.elapsed(t.taken)
}

// awaitFirstByte waits for the answer to what was written, or for its next part. dec may
// be asked for a reply after that.
func (t *timing) awaitFirstByte(dec *redis.Decoder) error {
	t.firstByte.Store(0)
	if _, err := dec.Next(); err != nil {
		return err
	}
	t.noteFirstByte()
	return nil
}

// explain adds to the error of a time-out where the time has gone, up to now.
func (t *timing) explain(err *errorx.Error) *errorx.Error {
	if !err.IsOfType(redis.ErrRequestCancelled) && !err.IsOfType(redis.ErrIO) {
		return err
	}
	now := clock()
	if t.taken == 0 {
		return withDelay(err, redis.Delay{Queue: now - t.opened})
	}
	return withDelay(err, t.delay(now))
}

// startTimingLocked measures a batch that is taken.
func (q *queue) startTimingLocked(b *batch) {
	t := &b.timing
	t.opened, t.taken = q.opened, clock()
	if t.ready = q.postponed.since; t.ready == 0 {
		t.ready = t.taken
	}
	t.lastSeq = b.items[len(b.items)-1].seq
	t.offset = q.takenBytes
	q.takenBytes += uint64(len(b.buf))
	q.takenSeq = t.lastSeq + 1
	if q.session != nil {
		t.calls = q.session.calls
	}
	t.called = t.calls.elapsed(t.taken)
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
	now := clock()
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
	d = b.delay(now)
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
	d := q.head.delay(clock())
	q.setAheadLocked(&d, q.seq, q.takenBytes+uint64(q.bytes))
	return d
}

// leftDelay is the delay of a batch that was left when the connection was lost. oldest
// is the oldest such batch.
func (q *queue) leftDelay(b, oldest *batch) (d redis.Delay) {
	now := clock()
	if b.taken == 0 {
		q.mu.Lock()
		defer q.mu.Unlock()
		return q.openDelayLocked(now)
	}
	d = b.delay(now)
	d.AheadRequests = int(b.items[0].seq - oldest.items[0].seq)
	d.AheadBytes = int(b.offset - oldest.offset)
	return d
}
