package peer

import (
	"context"
	"time"
)

// Service is a client with what services do beside reading and writing keys.
type Service interface {
	Client
	// Push appends a job to a list. Pop takes one off, and waits up to popTimeout for it.
	Push(ctx context.Context, list string, job []byte) error
	Pop(ctx context.Context, list string) ([]byte, error)
	// Allow counts a call, and reports whether it is one of the first limit calls of a
	// window. It runs limiterScript by its hash.
	Allow(ctx context.Context, key string, limit int) (bool, error)
	// Score sets the score of a player. Top returns the n players with the highest ones.
	Score(ctx context.Context, board, player string, score float64) error
	Top(ctx context.Context, board string, n int) ([]string, error)
}

// popTimeout is whole seconds, which all clients can send.
const popTimeout = time.Second

// limiterScript counts in a window of ARGV[2] ms.
const limiterScript = `
local n = redis.call('INCR', KEYS[1])
if n == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return n <= tonumber(ARGV[1]) and 1 or 0`

// limiterWindow is in milliseconds.
const limiterWindow = 1000
