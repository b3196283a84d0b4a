//go:build !unix

package main

import "time"

// processCPU returns 0, because this system does not report the processor time.
func processCPU() time.Duration { return 0 }
