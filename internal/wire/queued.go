package wire

// Queuer is a future of several requests that keeps the ticket of the last one, so that
// it can ask where the time went. Its requests are not withdrawn by it.
type Queuer interface {
	// Queued may be called in any goroutine, and more than once, if requests are sent
	// again.
	Queued(t Ticket)
}

// Queued gives a ticket to fut, if that is a Queuer.
func Queued(fut any, t Ticket) {
	if queuer, ok := fut.(Queuer); ok {
		queuer.Queued(t)
	}
}
