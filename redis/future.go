package redis

// Future takes the result of a request.
type Future interface {
	// Resolve is called once, with the result and the n that was given with the
	// request. It may be called in any goroutine, and before Send has returned. Mostly
	// that is the goroutine that reads the socket: it must be quick, and must not wait
	// for another reply of the same connection.
	Resolve(res any, n uint64)
	// Cancelled returns an error if nobody waits for the result any more: the request
	// is not sent then, unless it is written already. It must not block.
	Cancelled() error
}

// FuncFuture is a Future made of a function. It is never cancelled.
type FuncFuture func(res any, n uint64)

// Resolve implements Future.
func (f FuncFuture) Resolve(res any, n uint64) { f(res, n) }

// Cancelled implements Future.
func (f FuncFuture) Cancelled() error { return nil }

// resolve resolves cb, if there is one.
func resolve(cb Future, res any, n uint64) {
	if cb != nil {
		cb.Resolve(res, n)
	}
}
