package send

import "context"

// Future is redis.Future, which this package can't import.
type Future interface {
	Resolve(res any, n uint64)
	Cancelled() error
}

// Resolve resolves cb, if there is one.
func Resolve(cb Future, res any, n uint64) {
	if cb != nil {
		cb.Resolve(res, n)
	}
}

// Each calls f with each index from i up to n, in order. A call that panics, or ends the goroutine, as
// a future may, keeps none of the others from being made.
func Each(i, n int, f func(i int)) {
	defer func() {
		if i < n {
			Each(i, n, f)
		}
	}()
	for i < n {
		i++
		f(i - 1)
	}
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

// IsCancelled reports whether nobody waits for a future any more.
func IsCancelled(cb Future) bool { return WhyCancelled(cb) != nil }

// WhyCancelled returns why nobody waits for a future any more, or nil. One that panics when it
// is asked counts as waited for.
func WhyCancelled(cb Future) (why error) {
	defer func() { _ = recover() }()
	return cb.Cancelled()
}

// Internal is the future of a request that the library sends for itself: Shutdown
// neither waits for it nor counts it.
type Internal func(res any, n uint64)

// Resolve implements redis.Future.
func (f Internal) Resolve(res any, n uint64) { f(res, n) }

// Cancelled implements redis.Future.
func (f Internal) Cancelled() error { return nil }

// Forward is the part of a future that passes its result on to another one, To: whatever
// a sender asks of the first, the second answers. To may be nil.
type Forward struct{ To Future }

// Cancelled implements redis.Future.
func (p Forward) Cancelled() error {
	if p.To == nil {
		return nil
	}
	return p.To.Cancelled()
}

// Context is for ContextOf.
func (p Forward) Context() context.Context { return ContextOf(p.To) }

// Queued implements Queuer.
func (p Forward) Queued(t Ticket) { Queued(p.To, t) }

// AnsweredIn implements Follower.
func (p Forward) AnsweredIn(in Process) { AnsweredIn(p.To, in) }

// Observes implements Observer.
func (p Forward) Observes() bool { return Observes(p.To) }

// AnsweredBy implements Observer.
func (p Forward) AnsweredBy(at Server) { AnsweredBy(p.To, at) }

// Caller is for CallerOf.
func (p Forward) Caller() Caller { return CallerOf(p.To) }

// Queuer is a future that keeps the ticket of the last of its requests, to ask where the time
// went, not to withdraw it.
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

// Server is which server has answered a request.
type Server struct {
	Address string // as it was given to the connection
	Peer    string // of the socket
	// Cached is set if it was no server, but the memory of a sender.
	Cached bool
}

// Process is the server process at the other end of a socket. The same socket is always the
// same value.
type Process interface {
	// RunID returns the run_id, which each process draws at random, or "" if the server does
	// not tell it; nil until it was asked.
	RunID() *string
	// AskRunID asks for it on this socket, unless it was asked, and calls done in some
	// goroutine, with an error if there was no answer.
	AskRunID(done func(error))
}

// Observer is a future that is told which server has answered its request, before
// it is resolved with the answer.
type Observer interface {
	// Observes reports whether anybody wants to know: a future that passes results
	// on answers for the one that it passes them to.
	Observes() bool
	// AnsweredBy may be called in any goroutine, and more than once, if the request
	// is sent again.
	AnsweredBy(p Server)
}

// Observes reports whether fut is an Observer that wants to know.
func Observes(fut any) bool {
	observer, ok := fut.(Observer)
	return ok && observer.Observes()
}

// AnsweredBy tells fut, if it is an Observer.
func AnsweredBy(fut any, p Server) {
	if observer, ok := fut.(Observer); ok {
		observer.AnsweredBy(p)
	}
}

// Follower is an Observer that is told, too, which process of the server has answered, where the
// sender can find that out. That is not a part of Server, since each waiter has a Server.
type Follower interface {
	// AnsweredIn is called as AnsweredBy is.
	AnsweredIn(p Process)
}

// AnsweredIn tells fut, if it is a Follower.
func AnsweredIn(fut any, p Process) {
	if follower, ok := fut.(Follower); ok {
		follower.AnsweredIn(p)
	}
}

// Namer is a future that adds redis.EKRequest to errors by itself. A sender does
// not have to keep the request for it.
type Namer interface{ NamesRequests() }

// CallerOf returns who waits for fut, nil if nobody does. A future that passes results on
// answers for the one that it passes them to.
func CallerOf(fut any) Caller {
	if awaited, ok := fut.(interface{ Caller() Caller }); ok {
		return awaited.Caller()
	}
	return nil
}

// ContextOf returns the context of the caller that waits for fut, if the request may block,
// and else one that does not end.
func ContextOf(fut any) context.Context {
	if caller, ok := fut.(interface{ Context() context.Context }); ok {
		if ctx := caller.Context(); ctx != nil { // a user's future may have such a method, too
			return ctx
		}
	}
	return context.Background()
}
