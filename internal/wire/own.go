package wire

// Own is the future of a request that the library sends for itself: Shutdown
// neither waits for it nor counts it.
type Own func(res any, n uint64)

// Resolve implements redis.Future.
func (f Own) Resolve(res any, n uint64) { f(res, n) }

// Cancelled implements redis.Future.
func (f Own) Cancelled() error { return nil }
