package wire

// Future is redis.Future, which this package can't import.
type Future interface {
	Resolve(res any, n uint64)
	Cancelled() error
}

// ResolveEmpty resolves what SendTransaction got without requests: with why the
// future is cancelled, if it is, and with an empty array otherwise.
func ResolveEmpty(cb Future, n uint64) {
	if cb == nil {
		return
	}
	if err := cb.Cancelled(); err != nil {
		cb.Resolve(err, n)
		return
	}
	cb.Resolve([]any{}, n)
}
