package proto

import "math"

// The limits that Redis sets for the requests of a client.
const (
	// Most bounds the bytes that a client has written and that were not sent yet. Redis calls this limit
	// client-query-buffer-limit.
	Most = 1 << 30

	// WordMost bounds the bytes of a word: proto-max-bulk-len.
	WordMost = 512 << 20

	lineMost  = 64 << 10 // PROTO_INLINE_MAX_SIZE
	wordsMost = math.MaxInt32
)
