//go:build !unix

package rediscluster

import "time"

// processCPU is not known here.
func processCPU() time.Duration { return 0 }
