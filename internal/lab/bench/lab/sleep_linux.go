package lab

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// PreciseSleeper returns a sleep for one goroutine. The runtime's timers are
// late by up to a millisecond when the process is idle; one of the kernel's,
// waited for like a socket, by a few microseconds, and it keeps no processor
// from the other goroutines.
func PreciseSleeper() func(time.Duration) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return time.Sleep
	}
	timer := os.NewFile(uintptr(fd), "timer") // closed when nobody refers to it
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
