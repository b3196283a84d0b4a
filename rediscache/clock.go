package rediscache

import "time"

// instant is nanoseconds since the process began, by a clock that nobody sets.
type instant int64

var began = time.Now()

func now() instant { return instant(time.Since(began)) }

func instantOf(t time.Time) instant { return instant(t.Sub(began)) }
