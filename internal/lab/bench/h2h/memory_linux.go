package h2h

import "golang.org/x/sys/unix"

// memoryLimit is what a client's process may allocate: a hostile reply that
// makes it ask for more kills it.
const memoryLimit = 1 << 30

func limitMemory() {
	_ = unix.Setrlimit(unix.RLIMIT_DATA, &unix.Rlimit{Cur: memoryLimit, Max: memoryLimit})
}
