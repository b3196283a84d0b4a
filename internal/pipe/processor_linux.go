package pipe

import "syscall"

// schedYield lets other threads run on this one's processor. The scheduler
// of goroutines is not told, as it would start another thread in its place.
func schedYield() { _, _, _ = syscall.RawSyscall(syscall.SYS_SCHED_YIELD, 0, 0, 0) }
