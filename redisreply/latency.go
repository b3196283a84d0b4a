package redisreply

import "time"

// LatencyEvent is an element of the reply to LATENCY LATEST.
type LatencyEvent struct {
	Name string
	// Time is the time of the last event, to the second.
	Time time.Time `redis:",unix"`
	// Latest and Highest are the latest and the highest latency, to the millisecond.
	Latest  time.Duration `redis:",ms"`
	Highest time.Duration `redis:",ms"`
}

// UnmarshalRedis implements [redis.ResultUnmarshaler].
func (e *LatencyEvent) UnmarshalRedis(res any) error {
	type plain LatencyEvent
	return inOrder((*plain)(e), res)
}

// LatencySample is an element of the reply to LATENCY HISTORY.
type LatencySample struct {
	Time time.Time     `redis:",unix"`
	Took time.Duration `redis:",ms"`
}

// UnmarshalRedis implements [redis.ResultUnmarshaler].
func (s *LatencySample) UnmarshalRedis(res any) error {
	type plain LatencySample
	return inOrder((*plain)(s), res)
}

// Histogram has the durations of the calls of a command. The reply to LATENCY HISTOGRAM is a map of
// Histograms by command name.
type Histogram struct {
	Calls int64 `redis:"calls"`
	// Within maps microseconds to the number of calls that took at most that long.
	Within map[int64]int64 `redis:"histogram_usec"`
}
