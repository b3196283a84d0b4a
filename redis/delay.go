package redis

import (
	"fmt"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/histogram"
	"github.com/joomcode/redispipe/internal/send"
)

// Delay tells where a failed request spent its time. The times are those of its batch.
type Delay struct {
	// Queue is the time until the client started to write the batch. Earlier batches had to be
	// written first, or there was no connection, or no room in the queue. For a blocking
	// command, a new session or a stream, it is the time until the request
	// got its own connection.
	Queue time.Duration
	// Wire is the time from then until the first byte of the answer: the network, the server, and
	// the answers to earlier batches. It includes the time for which the batch waited for such an
	// answer before it was written.
	Wire time.Duration
	// Reading is the time from then until the whole answer had arrived.
	Reading time.Duration
	// Callback is the time for which the futures of this and earlier batches blocked the
	// reader. For a stream it is the time spent in the user's readers and writer.
	Callback time.Duration
	// AheadRequests and AheadBytes are the number and the size in bytes of the unanswered
	// requests that were sent before this one.
	AheadRequests, AheadBytes int
	// Outcome is the outcome of the error. Only [DelayOf] sets it.
	Outcome Outcome
}

// Stage is a stage of a request.
type Stage uint8

const (
	// StageQueue is measured by Delay.Queue.
	StageQueue Stage = iota
	// StageWire is measured by Delay.Wire.
	StageWire
	// StageReading is measured by Delay.Reading.
	StageReading
	// StageCallback is measured by Delay.Callback.
	StageCallback
)

// String implements fmt.Stringer.
func (s Stage) String() string {
	names := [...]string{"queue", "wire", "reading", "callback", "unknown"}
	return names[min(int(s), len(names)-1)]
}

// Longest returns the longest stage.
func (d Delay) Longest() Stage {
	longest := StageQueue
	times := [...]time.Duration{d.Queue, d.Wire, d.Reading, d.Callback}
	for s, t := range times {
		if t > times[longest] {
			longest = Stage(s)
		}
	}
	return longest
}

// String returns the times and the requests ahead as text.
func (d Delay) String() string {
	round := func(t time.Duration) time.Duration { return t.Round(10 * time.Microsecond) }
	return fmt.Sprintf("queue %v, wire %v, reading %v, callback %v, behind %s of %s",
		round(d.Queue), round(d.Wire), round(d.Reading), round(d.Callback),
		plural(d.AheadRequests, "request"), plural(d.AheadBytes, "byte"))
}

// EKDelay is the [Delay] of a request that timed out, or whose context or connection
// ended: see [DelayOf].
var EKDelay = errs.EKDelay

// DelayOf returns the delay of a request that failed with err, if it is known. The delay is known
// if the request failed while it was queued on a connection, in flight, or waiting for room in a
// full queue or for its own connection. For an [ErrOverloaded] it is the delay of the oldest
// request in flight. If a cluster retried the request, it is the delay of the last attempt; between
// two attempts it is not known.
func DelayOf(err error) (Delay, bool) {
	typed := errs.AsErrorx(err)
	if typed == nil {
		return Delay{}, false
	}
	delay, ok := typed.Property(errs.EKDelay)
	if !ok {
		return Delay{}, false
	}
	d := delay.(Delay)
	d.Outcome = OutcomeOf(err)
	return d, true
}

// Histogram counts durations, as in the statistics of a connection. Quantiles are exact
// to 1/8.
type Histogram = histogram.Histogram

// delayer is a send.Withdrawer that knows the delays of its queued requests.
type delayer interface {
	Delay(seq uint64) (Delay, bool)
}

// withDelay adds to err the delay of the request with ticket t, if the delay is known.
func withDelay(err *errorx.Error, t send.Ticket) *errorx.Error {
	if queue, ok := t.Queue.(delayer); ok {
		if d, known := queue.Delay(t.Seq); known {
			return err.WithProperty(errs.EKDelay, d)
		}
	}
	return err
}

// delayOutside returns the delay of a request that began to wait for room in a full queue at the given
// time.
func delayOutside(queue any, since time.Time) (d Delay) {
	if full, ok := queue.(delayer); ok {
		d, _ = full.Delay(0)
	}
	d.Queue = time.Since(since)
	return d
}
