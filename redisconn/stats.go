package redisconn

import (
	"reflect"
	"time"

	"github.com/joomcode/redispipe/redis"
)

// Stats is a consistent snapshot of the statistics of a connection since it was created. Only
// users' requests count, unless a field says otherwise. To publish them with package expvar:
//
//	expvar.Publish("redis", expvar.Func(func() any { return conn.Stats() }))
type Stats struct {
	// Addr is the address that was given to Connect. LocalAddr and RemoteAddr are those
	// of the socket, empty if there is none.
	Addr, LocalAddr, RemoteAddr string
	// State is "connected", "connecting", "disconnected" or "closed".
	State string

	// Values, Refused, NotSent and Unknown count requests by their [redis.Outcome], as the
	// connection saw them. A request whose caller has left counts by its answer. A request that is
	// sent again counts again. Requests that the connection refused, because they are malformed or
	// the queue was full, count as not sent. Requests on dedicated connections count only in
	// Dedicated.
	Values, Refused, NotSent, Unknown uint64

	// Writes counts the batches that were written. WrittenRequests and WrittenBytes are the number
	// and size of the requests in them, including the library's own.
	Writes, WrittenRequests, WrittenBytes uint64
	// ReadBytes counts the bytes that were read.
	ReadBytes uint64

	// InFlight is the number of requests that wait for their answers. A request counts as in flight
	// until its whole batch is answered. Queued is the number of requests that wait to be written,
	// and QueuedBytes their size in bytes. All of them include the library's own requests.
	InFlight, Queued, QueuedBytes int
	// WaitingForRoom is the number of callers that wait for room in the queue.
	WaitingForRoom int

	// Connects counts connected sockets, Disconnects lost sockets, and
	// FailedDials failed attempts to connect.
	Connects, Disconnects, FailedDials uint64
	// Opening shows how long it took to open each socket: dialing, TLS and the handshake. It includes the
	// sockets of dedicated connections, of DoStream and of subscribers, but no failed attempts.
	Opening *redis.Histogram
	// PingLatency is Connection.PingLatency.
	PingLatency time.Duration

	// Queue, Wire, Reading and Callback show where answered requests spent their time:
	// see [redis.Delay].
	Queue, Wire, Reading, Callback *redis.Histogram

	// Dedicated holds the statistics of the dedicated connections, from a separate
	// snapshot.
	Dedicated DedicatedStats
}

// Requests returns the number of requests that have ended, without those of Dedicated.
func (s Stats) Requests() uint64 { return s.Values + s.Refused + s.NotSent + s.Unknown }

// Stage returns the histogram of a stage, or nil if there is no such stage.
func (s Stats) Stage(stage redis.Stage) *redis.Histogram {
	stages := [...]*redis.Histogram{
		redis.StageQueue: s.Queue, redis.StageWire: s.Wire, redis.StageReading: s.Reading, redis.StageCallback: s.Callback,
	}
	if int(stage) < len(stages) {
		return stages[stage]
	}
	return nil
}

// Stats returns a snapshot. It takes a few microseconds (BenchmarkStats), and holds the
// connection's lock for part of that time.
func (c *Connection) Stats() Stats {
	if !c.opened() {
		return Stats{}
	}
	q := c.pipe.Stats()
	stages := &q.Stages
	return Stats{
		Addr: c.Addr(), LocalAddr: c.LocalAddr(), RemoteAddr: c.RemoteAddr(), State: q.State.String(),
		Values: q.Values, Refused: q.Refused, NotSent: q.NotSent, Unknown: q.Unknown,
		Writes: q.Writes, WrittenRequests: q.WrittenRequests, WrittenBytes: q.WrittenBytes, ReadBytes: q.ReadBytes,
		InFlight: q.InFlight, Queued: q.Queued, QueuedBytes: q.QueuedBytes, WaitingForRoom: q.WaitingForRoom,
		Connects: q.Connects, Disconnects: q.Disconnects, FailedDials: q.FailedDials, Opening: c.dialer.Opened(), PingLatency: c.PingLatency(),
		Queue: &stages[redis.StageQueue], Wire: &stages[redis.StageWire],
		Reading: &stages[redis.StageReading], Callback: &stages[redis.StageCallback],
		Dedicated: DedicatedStats(c.pool.Stats()),
	}
}

// Merge adds the counters and histograms of o. Addresses, State and PingLatency do not change.
func (s *Stats) Merge(o Stats) { addUp(reflect.ValueOf(s).Elem(), reflect.ValueOf(o)) }

// addUp adds the counters and histograms of one struct to those of another. It leaves other
// fields, such as addresses and latencies, unchanged.
func addUp(to, from reflect.Value) {
	for i := range to.NumField() {
		switch sum, more := to.Field(i), from.Field(i); sum.Kind() {
		case reflect.Int:
			sum.SetInt(sum.Int() + more.Int())
		case reflect.Uint64:
			sum.SetUint(sum.Uint() + more.Uint())
		case reflect.Struct:
			addUp(sum, more)
		case reflect.Pointer:
			if sum.IsNil() {
				sum.Set(reflect.ValueOf(new(redis.Histogram)))
			}
			sum.Interface().(*redis.Histogram).Merge(more.Interface().(*redis.Histogram))
		}
	}
}

// DedicatedStats are the statistics of the connections that blocking commands, sessions and reads
// of large values use in addition to the shared one: see Opts.DedicatedConns.
type DedicatedStats struct {
	// Open is the number of these connections, and Idle the number of those that are not in
	// use. Waiting is the number of callers that wait for one, to send a blocking command
	// or to open a session.
	Open, Idle, Waiting int
	// Values, Refused, NotSent and Unknown count their requests by [redis.Outcome],
	// including MULTI and EXEC of sessions.
	Values, Refused, NotSent, Unknown uint64
	// Connects counts opened connections, Disconnects lost connections, and
	// FailedDials failed attempts. A connection that is closed because it is no
	// longer needed, or can't be reset after a session, does not count as lost.
	Connects, Disconnects, FailedDials uint64
	// NotUnblocked counts cancelled blocking commands that the client could not ask the server to
	// unblock: see [LogNotUnblocked]. Each of them cost its connection, and the outcome of the
	// command is unknown.
	NotUnblocked uint64
	// Wait shows how long blocking commands and sessions that got a connection had waited for it,
	// whether it was idle, released by another user, or new.
	Wait *redis.Histogram
}
