package lab

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// PreciseSleeper returns a sleep for one goroutine. The runtime's timers are late by up to a
// millisecond when the process is idle. A kernel timer that is read like a socket is late by only a
// few microseconds, and takes no processor from other goroutines.
func PreciseSleeper() func(time.Duration) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return time.Sleep
	}
	timer := os.NewFile(uintptr(fd), "timer") // closed by its finalizer
	expirations := make([]byte, 8)
	return func(d time.Duration) {
		if d <= 0 {
			return
		}
		at := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(d))}
		if err := unix.TimerfdSettime(fd, 0, &at, nil); err != nil {
			time.Sleep(d)
			return
		}
		_, _ = timer.Read(expirations)
	}
}
