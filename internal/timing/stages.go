// Package timing measures where the time of requests goes, of all that were sent
// together: when the first of them entered, when they were taken to be written, when their
// answer began, and what users' futures took in between.
package timing

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/resp"
	"github.com/joomcode/redispipe/redis"
)

var epoch = time.Now()

// Clock returns the time since the process began. It takes half the time of time.Now.
func Clock() time.Duration { return time.Since(epoch) }

// At returns the time at which Clock returned d.
func At(d time.Duration) time.Time { return epoch.Add(d) }

// Stat is what a logger's statistics of a request need.
type Stat struct {
	Req   redis.Request
	Start time.Time
}

// Stages is what is measured of a batch, or of what is sent on a connection of its own.
type Stages struct {
	Opened time.Duration // when the first request entered
	// Ready is when it could be written: when it was taken or, if it was postponed, began
	// to wait for the answer to what was in flight.
	Ready, Taken time.Duration

	calls  *Callbacks
	called time.Duration // elapsed of calls when it was taken
	// firstByte is when the answer began, or 0. It is set after calledAtFirst, elapsed
	// then: whoever has seen it may read that.
	firstByte     atomic.Int64
	calledAtFirst time.Duration
}

// Open returns the Stages of what enters now, with the clock of its callbacks, which may be nil.
func Open(calls *Callbacks) *Stages { return &Stages{Opened: Clock(), calls: calls} }

// Take notes that it is taken now, to be written on a connection with these callbacks.
func (t *Stages) Take(now time.Duration, calls *Callbacks) {
	t.Taken, t.calls = now, calls
	t.called = calls.elapsed(now)
}

// NoteWrite notes that what is sent on a connection of its own is about to be written.
func (t *Stages) NoteWrite() {
	t.Take(Clock(), t.calls)
	t.Ready = t.Taken
}

// Begun reports whether the answer has begun.
func (t *Stages) Begun() bool { return t.firstByte.Load() != 0 }

// NoteFirstByte notes that the first byte of the answer is there, now.
func (t *Stages) NoteFirstByte() {
	now := Clock()
	t.calledAtFirst = t.calls.elapsed(now)
	t.firstByte.Store(int64(now))
}

// AwaitFirstByte waits for the answer to what was written, or for its next part. dec may
// be asked for a reply after that.
func (t *Stages) AwaitFirstByte(dec *resp.Decoder) error {
	t.firstByte.Store(0)
	if _, err := dec.Next(); err != nil {
		return err
	}
	t.NoteFirstByte()
	return nil
}

// Delay returns where the time of what was taken has gone up to now.
func (t *Stages) Delay(now time.Duration) redis.Delay {
	d := redis.Delay{Queue: t.Ready - t.Opened}
	called := t.calls.elapsed(now)
	first := time.Duration(t.firstByte.Load())
	if first == 0 {
		d.Callback = min(called-t.called, now-t.Taken)
		d.Wire = now - t.Ready - d.Callback
		return d
	}
	before := min(t.calledAtFirst-t.called, first-t.Taken)
	within := min(called-t.calledAtFirst, now-first)
	d.Wire = first - t.Ready - before
	d.Callback = before + within
	d.Reading = now - first - within
	return d
}

// Explain adds to the error of a time-out where the time has gone, up to now.
func (t *Stages) Explain(err *errorx.Error) *errorx.Error {
	if !err.IsOfType(redis.ErrRequestCancelled) && !err.IsOfType(redis.ErrIO) {
		return err
	}
	now := Clock()
	if t.Taken == 0 {
		return WithDelay(err, redis.Delay{Queue: now - t.Opened})
	}
	return WithDelay(err, t.Delay(now))
}

// WithDelay adds where the time went to an error, which may be nil.
func WithDelay(err *errorx.Error, d redis.Delay) *errorx.Error {
	if err == nil {
		return nil
	}
	return err.WithProperty(redis.EKDelay, d)
}

// elapsed returns for how long futures have held who reads, up to now.
func (c *Callbacks) elapsed(now time.Duration) time.Duration {
	if c == nil {
		return 0
	}
	total, since := c.total.Load(), c.since.Load()
	if since != 0 {
		total += max(0, int64(now)-since)
	}
	return time.Duration(total)
}

// Callbacks measures for how long futures of users hold who reads. It runs from the first
// such future until the reader waits for more bytes, or passes the right to read on. Only
// the holder of that right may start and stop it; anybody may ask what has elapsed. A nil
// one, of a socket without batches, stands still.
type Callbacks struct {
	since atomic.Int64 // when it was started, or 0
	total atomic.Int64 // what it has run before
}

// Start starts it, unless it runs.
func (c *Callbacks) Start() {
	if c != nil && c.since.Load() == 0 {
		c.since.Store(int64(Clock()))
	}
}

// Stop stops it, if it runs.
func (c *Callbacks) Stop() {
	if c == nil {
		return
	}
	if since := c.since.Load(); since != 0 {
		c.total.Add(int64(Clock()) - since)
		c.since.Store(0)
	}
}

// Plus adds durations that are not negative, up to the longest that there is: users say
// "never" with it.
func Plus(d, e time.Duration) time.Duration {
	if d > math.MaxInt64-e {
		return math.MaxInt64
	}
	return d + e
}

// Times multiplies, up to the longest duration that there is.
func Times(d, n time.Duration) time.Duration {
	if d > math.MaxInt64/n {
		return math.MaxInt64
	}
	return d * n
}

// Until returns the time from now, which Clock returned, until t.
func Until(t time.Time, now time.Duration) time.Duration { return t.Sub(epoch) - now }
