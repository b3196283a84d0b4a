package redis

import "io"

// Stream is an argument that is read while it is sent, for values that should not be
// held in memory. Only methods that say so accept it.
type Stream struct {
	// R has to deliver Size bytes; what follows them is not read.
	R io.Reader
	// Size is the argument's length in bytes.
	Size int64
}
