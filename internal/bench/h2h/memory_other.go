//go:build !linux

package h2h

// limitMemory is not to be had here: hostile lengths are tried in vain or kill
// the process when the machine's memory ends.
func limitMemory() {}
