//go:build !linux

package lab

import "time"

// PreciseSleeper returns time.Sleep, which is as precise as the runtime's timers.
func PreciseSleeper() func(time.Duration) { return time.Sleep }
