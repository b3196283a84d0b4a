//go:build !unix

package rediscluster

import "time"

// processCPU returns 0: the processor time of the process is not known on this platform.
func processCPU() time.Duration { return 0 }
