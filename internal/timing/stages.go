// Package timing measures where the time of a batch of requests goes: when the first request was
// accepted, when the batch was taken to be written, when its answer began, and how long users'
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

// Stat is the data about a request for the statistics of a logger.
type Stat struct {
	Req   redis.Request
	Start time.Time
}

// Stages are the times of a batch, or of a request on a dedicated connection.
type Stages struct {
	Opened time.Duration // when the first request was accepted
	// Ready is when it could be written: when it was taken or, if it was postponed, when it began to
	// wait for the answer to earlier requests.
	Ready, Taken time.Duration

	calls  *Callbacks
	called time.Duration // callbacks.elapsed when it was taken
	// firstByte is when the answer began, or 0. It is stored after calledAtFirst (elapsed at that
	// time), so that a goroutine that sees it may read calledAtFirst.
	firstByte     atomic.Int64
	calledAtFirst time.Duration
}

// Open returns the Stages of a batch that is opened now, with the clock of its callbacks, which may
// be nil.
func Open(calls *Callbacks) *Stages { return &Stages{Opened: Clock(), calls: calls} }

// Take records that the batch is taken now, to be written on a connection with these callbacks.
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

// AwaitFirstByte waits for the answer, or for its next part. After that, dec may be asked for a
// reply.
func (t *Stages) AwaitFirstByte(dec *resp.Decoder) error {
	t.firstByte.Store(0)
	if _, err := dec.Next(); err != nil {
		return err
	}
	t.NoteFirstByte()
	return nil
}

// Delay reports where the time has gone until now.
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

// Explain adds to the error of a time-out where the time has gone until now.
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

// WithDelay adds to an error, which may be nil, where the time went.
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
// right may start and stop it; any goroutine may call elapsed. A nil Callbacks, for a socket
// without batches, never runs.
type Callbacks struct {
	since atomic.Int64 // when it was started, or 0
	total atomic.Int64 // the time of earlier runs
}

// Start starts the measurement, unless it is running.
func (c *Callbacks) Start() {
	if c != nil && c.since.Load() == 0 {
		c.since.Store(int64(Clock()))
	}
}

// Stop stops it if it is running.
func (c *Callbacks) Stop() {
	if c == nil {
		return
	}
	if since := c.since.Load(); since != 0 {
		c.total.Add(int64(Clock()) - since)
		c.since.Store(0)
	}
}

// Plus adds durations that are not negative. It does not overflow, because users set the longest
// duration to mean "never".
func Plus(d, e time.Duration) time.Duration {
	if d > math.MaxInt64-e {
		return math.MaxInt64
	}
	return d + e
}

// Times multiplies a duration without overflow.
func Times(d, n time.Duration) time.Duration {
	if d > math.MaxInt64/n {
		return math.MaxInt64
	}
	return d * n
}

// Until returns the time from now, a result of Clock, until t.
func Until(t time.Time, now time.Duration) time.Duration { return t.Sub(epoch) - now }
