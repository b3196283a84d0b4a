package wire

import "sync"

// buffers are those in which requests are encoded. Senders retain none of them, so
// that a few, which stay in a processor's cache, do for all callers.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// A buffer over this size is left to the garbage collector: one large request must
// not pin its size forever.
const bufferKept = 64 << 10

// GetBuffer returns an empty buffer.
func GetBuffer() *[]byte { return buffers.Get().(*[]byte) }

// PutBuffer takes a buffer back.
func PutBuffer(buf *[]byte) {
	if cap(*buf) <= bufferKept {
		*buf = (*buf)[:0]
		buffers.Put(buf)
	}
}
