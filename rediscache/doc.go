// Package rediscache answers reads out of memory, and never with a value that is older than a
// write of its own that was acknowledged before.
package rediscache
