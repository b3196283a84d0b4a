//go:build !linux

package h2h

// limitMemory does nothing here: a client that believes a hostile length may take all
// memory of the machine.
func limitMemory() {}
