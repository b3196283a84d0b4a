package wire

// Place is which server has answered a request.
type Place struct {
	Address string // as it was given to the connection
	Peer    string // of the socket
	// Cached is set if it was no server, but the memory of a sender.
	Cached bool
}

// Observer is a future that is told which server has answered its request, before
// it is resolved with the answer.
type Observer interface {
	// Observes reports whether anybody wants to know: a future that passes results
	// on answers for the one that it passes them to.
	Observes() bool
	// AnsweredBy may be called in any goroutine, and more than once, if the request
	// is sent again.
	AnsweredBy(p Place)
}

// Observes reports whether fut is an Observer that wants to know.
func Observes(fut any) bool {
	observer, ok := fut.(Observer)
	return ok && observer.Observes()
}

// AnsweredBy tells fut, if it is an Observer.
func AnsweredBy(fut any, p Place) {
	if observer, ok := fut.(Observer); ok {
		observer.AnsweredBy(p)
	}
}
