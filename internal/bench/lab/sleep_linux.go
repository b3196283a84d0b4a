package lab

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// PreciseSleeper returns a sleep for the calling goroutine, which keeps its
// thread from then on. The runtime's timers are late by up to a millisecond
// when the process is idle; the kernel's, without slack, by a few microseconds.
func PreciseSleeper() func(time.Duration) {
	runtime.LockOSThread()
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	return func(d time.Duration) {
		if d <= 0 {
			return
		}
		t := unix.NsecToTimespec(int64(d))
		for unix.Nanosleep(&t, &t) == unix.EINTR {
		}
	}
}
