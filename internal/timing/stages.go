// Package timing measures which stages of a batch of requests take how long: when the first request
// was accepted, when the batch was taken to be written, when its answer began, and how long users'
// futures took in between.
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

// Stat is the record about a request that the statistics of a logger need.
type Stat struct {
	Req   redis.Request
	Start time.Time
}

// Stages are the times of a batch, or of a request on a dedicated connection.
type Stages struct {
	Opened time.Duration // when the first request was accepted
	// Ready is when the batch could be written. If it was postponed, Ready is when it began to wait
	// for the answer to earlier requests. Otherwise it is Taken, when the batch was taken.
	Ready, Taken time.Duration

	calls  *Callbacks
	called time.Duration // callbacks.elapsed when the batch was taken
	// firstByte is when the answer began, or 0. It is stored after calledAtFirst, which is elapsed
	// at that time. So a goroutine that sees firstByte may read calledAtFirst.
	firstByte     atomic.Int64
	calledAtFirst time.Duration
}

// Open returns the Stages of a batch that is opened now. calls measures the callbacks on its
// connection; it may be nil.
func Open(calls *Callbacks) *Stages { return &Stages{Opened: Clock(), calls: calls} }

// Take records that the batch is taken at now. calls measures the callbacks on the connection to
// which it is written.
func (t *Stages) Take(now time.Duration, calls *Callbacks) {
	t.Taken, t.calls = now, calls
	t.called = calls.elapsed(now)
}

// NoteWrite records that the request on a dedicated connection is about to be written.
func (t *Stages) NoteWrite() {
	t.Take(Clock(), t.calls)
	t.Ready = t.Taken
}

// Begun reports whether the answer has begun.
func (t *Stages) Begun() bool { return t.firstByte.Load() != 0 }

// NoteFirstByte records that the first byte of the answer arrived now.
func (t *Stages) NoteFirstByte() {
	now := Clock()
	t.calledAtFirst = t.calls.elapsed(now)
	t.firstByte.Store(int64(now))
}

// AwaitFirstByte waits for the answer, or for the next part of it. After that, dec can decode a
// reply.
func (t *Stages) AwaitFirstByte(dec *resp.Decoder) error {
	t.firstByte.Store(0)
	if _, err := dec.Next(); err != nil {
		return err
	}
	t.NoteFirstByte()
	return nil
}

// Delay returns how long each stage took, until now.
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
	since := min(called-t.calledAtFirst, now-first)
	d.Wire = first - t.Ready - before
	d.Callback = before + since
	d.Reading = now - first - since
	return d
}

// Explain adds to the error of a time-out how long each stage took, until now.
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

// WithDelay adds to an error, which may be nil, how long each stage took.
func WithDelay(err *errorx.Error, d redis.Delay) *errorx.Error {
	if err == nil {
		return nil
	}
	return err.WithProperty(redis.EKDelay, d)
}

// elapsed returns how long futures have occupied the reader until now.
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

// Callbacks measures how long users' futures occupy the reader. It runs from the first such future
// until the reader waits for more bytes or passes on the right to read. Only the holder of that
// right may start and stop the measurement. Any goroutine may call elapsed. A nil Callbacks, for a
// socket without batches, never runs.
type Callbacks struct {
	since atomic.Int64 // when the measurement was started, or 0
	total atomic.Int64 // the time of earlier runs
}

// Start starts the measurement, unless it is running.
func (c *Callbacks) Start() {
	if c != nil && c.since.Load() == 0 {
		c.since.Store(int64(Clock()))
	}
}

// Stop stops the measurement if it is running.
func (c *Callbacks) Stop() {
	if c == nil {
		return
	}
	if since := c.since.Load(); since != 0 {
		c.total.Add(int64(Clock()) - since)
		c.since.Store(0)
	}
}

// Plus adds durations that are not negative. The sum does not overflow: users set the longest
// duration to mean "never".
func Plus(d, e time.Duration) time.Duration {
	if d > math.MaxInt64-e {
		return math.MaxInt64
	}
	return d + e
}

// Times multiplies a duration. The product does not overflow.
func Times(d, n time.Duration) time.Duration {
	if d > math.MaxInt64/n {
		return math.MaxInt64
	}
	return d * n
}

// Until returns how long it takes until t. now is a result of Clock.
func Until(t time.Time, now time.Duration) time.Duration { return t.Sub(epoch) - now }
