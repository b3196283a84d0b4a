package redisconn

// DedicatedStats are the statistics of the connections for blocking commands and
// sessions, beside the shared one: see Opts.DedicatedConns.
type DedicatedStats struct {
	// Open is the number of these connections, Idle of those that are not in use.
	// Waiting is the number of blocking commands and of sessions to be opened that wait
	// for one.
	Open, Idle, Waiting int
	// Values, Refused, NotSent and Unknown count their requests by [redis.Outcome],
	// including MULTI and EXEC of sessions.
	Values, Refused, NotSent, Unknown uint64
	// Connects and Disconnects count connections that were made and lost, FailedDials
	// attempts that failed. A connection that is closed because it is not needed any
	// more, or can't be reset after a session, is not counted as lost.
	Connects, Disconnects, FailedDials uint64
	// NotUnblocked counts cancelled blocking commands that the server could not be asked
	// to unblock: see [LogNotUnblocked]. Each has cost its connection, and is unknown.
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
