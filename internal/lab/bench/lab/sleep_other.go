//go:build !linux

package lab

import "time"

// PreciseSleeper is as precise as the runtime's timers here.
func PreciseSleeper() func(time.Duration) { return time.Sleep }
