package redisconn

import (
	"time"

	"github.com/joomcode/redispipe/internal/timing"
	"github.com/joomcode/redispipe/redis"
)

// Stats says what a connection has done since it was made, and what it is doing. It is
// a consistent snapshot. It counts only users' requests, unless a field says otherwise.
// As a variable of package expvar:
//
//	expvar.Publish("redis", expvar.Func(func() any { return conn.Stats() }))
type Stats struct {
	// Addr is the address that was given to Connect. LocalAddr and RemoteAddr are those
	// of the socket, empty if there is none.
	Addr, LocalAddr, RemoteAddr string
	// State is "connected", "connecting", "disconnected" or "closed".
	State string

	// Values, Refused, NotSent and Unknown count requests by their [redis.Outcome], as
	// the connection saw them: a request whose caller has left counts by its answer,
	// and a request that is sent again counts again. Requests that were refused because
	// they are malformed, or because the queue was full, count as not sent. Requests on
	// dedicated connections are counted in Dedicated only.
	Values, Refused, NotSent, Unknown uint64

	// Writes counts the batches that were written; WrittenRequests and WrittenBytes are
	// the number and size of their requests, including the library's own.
	Writes, WrittenRequests, WrittenBytes uint64
	// ReadBytes counts the bytes that were read.
	ReadBytes uint64

	// InFlight is the number of requests that wait for their answers, Queued of those
	// that wait to be written, including the library's own. A request counts as in
	// flight until all of its batch is answered. QueuedBytes is the size of the queued
	// requests.
	InFlight, Queued, QueuedBytes int
	// WaitingForRoom is the number of callers that wait for room in the queue.
	WaitingForRoom int

	// Connects and Disconnects count sockets that were connected and lost, FailedDials
	// attempts that failed.
	Connects, Disconnects, FailedDials uint64
	// PingLatency is Connection.PingLatency.
	PingLatency time.Duration

	// Queue, Wire, Reading and Callback say where the time of answered requests went:
	// see [redis.Delay].
	Queue, Wire, Reading, Callback *redis.Histogram

	// Dedicated are the statistics of the dedicated connections, in a snapshot that is
	// taken at another moment.
	Dedicated DedicatedStats
}

// Requests returns how many requests have ended, without those of Dedicated.
func (s Stats) Requests() uint64 { return s.Values + s.Refused + s.NotSent + s.Unknown }

// Stage returns the histogram of a stage, or nil if there is no such stage.
func (s Stats) Stage(stage redis.Stage) *redis.Histogram {
	switch stage {
	case redis.StageQueue:
		return s.Queue
	case redis.StageWire:
		return s.Wire
	case redis.StageReading:
		return s.Reading
	case redis.StageCallback:
		return s.Callback
	}
	return nil
}

// counters are what Stats is made of. queue.mu guards them.
type counters struct {
	values, refused, notSent, unknown  uint64
	writes, writtenRequests            uint64
	readBytes                          uint64 // of sockets that are gone
	connects, disconnects, failedDials uint64
	stages                             [4]redis.Histogram // by redis.Stage
	lastCallback                       time.Duration      // see countLastCallback
	lastRequests                       int
	lastRetired                        time.Duration
}

// countTakenLocked counts a batch that is taken.
func (q *queue) countTakenLocked(b *batch) {
	q.writes++
	q.writtenRequests += uint64(len(b.items))
}

// countAnsweredLocked counts a batch that is answered. The last future of a user is
// still to be resolved then.
func (q *queue) countAnsweredLocked(b *batch, now time.Duration) {
	n := len(b.items) - b.own
	if n <= 0 {
		return
	}
	refused := min(b.refused, n) // EXEC's error is one more
	q.refused += uint64(refused)
	q.values += uint64(n - refused)
	d := b.Delay(now)
	q.stages[redis.StageQueue].Add(d.Queue, n)
	q.stages[redis.StageWire].Add(d.Wire, n)
	q.stages[redis.StageReading].Add(d.Reading, n)
	if last := &b.items[len(b.items)-1]; last.fut == nil || last.waits {
		q.stages[redis.StageCallback].Add(d.Callback, n)
		return
	}
	q.lastCallback, q.lastRequests, q.lastRetired = d.Callback, n, now
}

// countLastCallback counts the callbacks of the batch that was retired last, when its
// last future was resolved.
func (q *queue) countLastCallback() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.stages[redis.StageCallback].Add(q.lastCallback+timing.Clock()-q.lastRetired, q.lastRequests)
	q.lastRequests = 0
}

// countLeft counts requests that were not answered.
func (q *queue) countLeft(notSent, unknown uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.notSent += notSent
	q.unknown += unknown
}

// countChangeLocked counts a change of state.
func (q *queue) countChangeLocked(to state) {
	switch {
	case to == stateConnected:
		q.connects++
	case q.state == stateConnected && to == stateDisconnected:
		q.disconnects++
	case q.state == stateConnecting && to == stateDisconnected:
		q.failedDials++
	}
	if q.session != nil {
		q.readBytes += uint64(q.session.Received())
	}
}

// Stats returns a snapshot. It holds the connection's lock for a part of its time,
// which is some 2.4 µs (BenchmarkStats, two cores).
func (c *Connection) Stats() Stats {
	var stages [4]redis.Histogram
	s := Stats{
		Addr: c.Addr(), LocalAddr: c.LocalAddr(), RemoteAddr: c.RemoteAddr(), PingLatency: c.PingLatency(),
		Queue: &stages[0], Wire: &stages[1], Reading: &stages[2], Callback: &stages[3],
		Dedicated: c.dedicatedStats(),
	}
	q := &c.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	stages = q.stages
	s.State = q.state.String()
	s.Values, s.Refused, s.NotSent, s.Unknown = q.values, q.refused, q.notSent, q.unknown
	s.Writes, s.WrittenRequests, s.WrittenBytes = q.writes, q.writtenRequests, q.takenBytes
	s.ReadBytes = q.readBytes
	if q.session != nil {
		s.ReadBytes += uint64(q.session.Received())
	}
	if q.open != nil {
		s.Queued = len(q.open.items) - q.open.withdrawn
	}
	s.InFlight, s.QueuedBytes, s.WaitingForRoom = q.pending-s.Queued, q.bytes, q.waiters.Len()
	s.Connects, s.Disconnects, s.FailedDials = q.connects, q.disconnects, q.failedDials
	return s
}

// Merge adds the counters of another connection. Addresses, State and PingLatency stay
// as they are.
func (s *Stats) Merge(o Stats) {
	s.Values += o.Values
	s.Refused += o.Refused
	s.NotSent += o.NotSent
	s.Unknown += o.Unknown
	s.Writes += o.Writes
	s.WrittenRequests += o.WrittenRequests
	s.WrittenBytes += o.WrittenBytes
	s.ReadBytes += o.ReadBytes
	s.InFlight += o.InFlight
	s.Queued += o.Queued
	s.QueuedBytes += o.QueuedBytes
	s.WaitingForRoom += o.WaitingForRoom
	s.Connects += o.Connects
	s.Disconnects += o.Disconnects
	s.FailedDials += o.FailedDials
	s.Dedicated.merge(o.Dedicated)
	for _, stage := range []struct {
		to   **redis.Histogram
		from *redis.Histogram
	}{{&s.Queue, o.Queue}, {&s.Wire, o.Wire}, {&s.Reading, o.Reading}, {&s.Callback, o.Callback}} {
		if *stage.to == nil {
			*stage.to = new(redis.Histogram)
		}
		(*stage.to).Merge(stage.from)
	}
}
