package redisconn

// DedicatedStats are the statistics of the connections that blocking commands and
// sessions have in addition to the shared one: see Opts.DedicatedConns.
type DedicatedStats struct {
	// Open is the number of these connections, Idle the number of those that are not in
	// use. Waiting is the number of callers that wait for one, to send a blocking command
	// or to open a session.
	Open, Idle, Waiting int
	// Values, Refused, NotSent and Unknown count their requests by [redis.Outcome],
	// including MULTI and EXEC of sessions.
	Values, Refused, NotSent, Unknown uint64
	// Connects counts connections that were made, Disconnects those that were lost,
	// FailedDials attempts that failed. A connection that is closed because it is no
	// longer needed, or can't be reset after a session, does not count as lost.
	Connects, Disconnects, FailedDials uint64
	// NotUnblocked counts cancelled blocking commands that the server could not be asked
	// to unblock: see [LogNotUnblocked]. For each of them its connection was closed, and
	// the outcome is unknown.
	NotUnblocked uint64
}

// merge adds up.
func (s *DedicatedStats) merge(o DedicatedStats) {
	s.Open += o.Open
	s.Idle += o.Idle
	s.Waiting += o.Waiting
	s.Values += o.Values
	s.Refused += o.Refused
	s.NotSent += o.NotSent
	s.Unknown += o.Unknown
	s.Connects += o.Connects
	s.Disconnects += o.Disconnects
	s.FailedDials += o.FailedDials
	s.NotUnblocked += o.NotUnblocked
}
