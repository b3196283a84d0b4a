package redisconn

import "runtime/debug"

// resolveFuture resolves a future in another place than the reader.
func (c *Connection) resolveFuture(cb Future, res any, n uint64) {
	if cb == nil {
		return
	}
	defer func() {
		if v := recover(); v != nil {
			c.report(LogFuturePanic{Value: v, Stack: debug.Stack()})
		}
	}()
	cb.Resolve(res, n)
}

// isCancelled asks a future. One that panics is taken for not cancelled.
func isCancelled(fut Future) (cancelled bool) {
	defer func() { _ = recover() }()
	return fut.Cancelled() != nil
}
