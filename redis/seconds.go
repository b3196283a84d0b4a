package redis

import (
	"time"

	"github.com/joomcode/redispipe/internal/values"
)

// Seconds is a time.Duration that is sent and read as a whole number of seconds, as in
// EXPIRE and TTL. As an argument (see [Args]) it is never rounded: a value that is not a whole number of
// seconds is an error. TTL's -1 and -2 are read as -1 and -2 seconds.
type Seconds time.Duration

// String prints s as a time.Duration: 1m30s.
func (s Seconds) String() string { return time.Duration(s).String() }

// MarshalRedis implements ArgMarshaler.
func (s Seconds) MarshalRedis() (any, error) { return values.Seconds.Arg(time.Duration(s)) }

// UnmarshalRedis implements ResultUnmarshaler.
func (s *Seconds) UnmarshalRedis(res any) error {
	return values.Seconds.Read((*time.Duration)(s), res)
}

// Milliseconds is like [Seconds], in milliseconds, as in PEXPIRE, PTTL and the PX of
// SET.
type Milliseconds time.Duration

// String prints m as a time.Duration: 1.5s.
func (m Milliseconds) String() string { return time.Duration(m).String() }

// MarshalRedis implements ArgMarshaler.
func (m Milliseconds) MarshalRedis() (any, error) {
	return values.Milliseconds.Arg(time.Duration(m))
}

// UnmarshalRedis implements ResultUnmarshaler.
func (m *Milliseconds) UnmarshalRedis(res any) error {
	return values.Milliseconds.Read((*time.Duration)(m), res)
}
