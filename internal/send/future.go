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

// Each calls f with each index from i up to n, in order. If a call panics or ends the goroutine, as
// a user's future may, the others are still made.
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

// ResolveEmpty resolves the future of a SendTransaction without requests. If the future is
// cancelled, the result is the reason, otherwise an empty array.
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

// WhyCancelled returns why nobody waits for a future any more, or nil. A future that panics when it
// is asked counts as not cancelled.
func WhyCancelled(cb Future) (why error) {
	defer func() { _ = recover() }()
	return cb.Cancelled()
}

// Internal is the future of a request that the library sends for its own use: Shutdown neither
// waits for it nor counts it.
type Internal func(res any, n uint64)

// Resolve implements redis.Future.
func (f Internal) Resolve(res any, n uint64) { f(res, n) }

// Cancelled implements redis.Future.
func (f Internal) Cancelled() error { return nil }

// Forward is embedded in futures that pass their result on to another future, To. It answers a
// sender's questions like To. To may be nil.
type Forward struct{ To Future }

// Cancelled implements redis.Future.
func (p Forward) Cancelled() error {
	if p.To == nil {
		return nil
	}
	return p.To.Cancelled()
}

// Context is called by ContextOf.
func (p Forward) Context() context.Context { return ContextOf(p.To) }

// Queued implements Queuer.
func (p Forward) Queued(t Ticket) { Queued(p.To, t) }

// AnsweredIn implements Follower.
func (p Forward) AnsweredIn(in Process) { AnsweredIn(p.To, in) }

// Observes implements Observer.
func (p Forward) Observes() bool { return Observes(p.To) }

// AnsweredBy implements Observer.
func (p Forward) AnsweredBy(at Server) { AnsweredBy(p.To, at) }

// Caller is called by CallerOf.
func (p Forward) Caller() Caller { return CallerOf(p.To) }

// Queuer is a future that keeps the ticket of its latest request. It uses the ticket only to ask
// where the time of the request went, not to withdraw the request.
type Queuer interface {
	// Queued may be called from any goroutine, and again if the request is sent again.
	Queued(t Ticket)
}

// Queued passes a ticket to fut, if fut is a Queuer.
func Queued(fut any, t Ticket) {
	if queuer, ok := fut.(Queuer); ok {
		queuer.Queued(t)
	}
}

// Server names the server that answered a request.
type Server struct {
	Address string // as it was given to the connection
	Peer    string // the remote address of the socket
	// Cached is set if the answer came from a sender's memory, not from a server.
	Cached bool
}

// Process is the server process at the other end of a socket. A socket has the same Process value
// all the time.
type Process interface {
	// RunID returns the run_id, which each process draws at random. It returns "" if the server does
	// not report it, and nil before AskRunID has found it out.
	RunID() *string
	// AskRunID asks for the run_id on this socket, unless it is known. Then it calls done, from any
	// goroutine, with an error if there was no answer.
	AskRunID(done func(error))
}

// Observer is a future that is told which server has answered its request, before
// it is resolved with the answer.
type Observer interface {
	// Observes reports whether the future wants to be told. A future that passes its result on
	// answers like the other future.
	Observes() bool
	// AnsweredBy may be called from any goroutine, and again if the request is sent again.
	AnsweredBy(p Server)
}

// Observes reports whether fut is an Observer that wants to be told.
func Observes(fut any) bool {
	observer, ok := fut.(Observer)
	return ok && observer.Observes()
}

// AnsweredBy calls AnsweredBy of fut if it is an Observer.
func AnsweredBy(fut any, p Server) {
	if observer, ok := fut.(Observer); ok {
		observer.AnsweredBy(p)
	}
}

// Follower is an Observer that is also told which process of the server answered, if the sender can
// find out. This is not a field of Server, because every waiter contains a Server.
type Follower interface {
	// AnsweredIn is called after each call of AnsweredBy.
	AnsweredIn(p Process)
}

// AnsweredIn calls AnsweredIn of fut if it is a Follower.
func AnsweredIn(fut any, p Process) {
	if follower, ok := fut.(Follower); ok {
		follower.AnsweredIn(p)
	}
}

// Namer is a future that itself adds redis.EKRequest to errors, so the sender need not keep the
// request for that.
type Namer interface{ NamesRequests() }

// CallerOf returns the caller that waits for fut, or nil. A future that passes its result on
// answers like the other future.
func CallerOf(fut any) Caller {
	if awaited, ok := fut.(interface{ Caller() Caller }); ok {
		return awaited.Caller()
	}
	return nil
}

// ContextOf returns the context of the caller that waits for fut, if the request may block.
// Otherwise it returns a context that does not end.
func ContextOf(fut any) context.Context {
	if caller, ok := fut.(interface{ Context() context.Context }); ok {
		if ctx := caller.Context(); ctx != nil { // a user's future may return nil
			return ctx
		}
	}
	return context.Background()
}

// CallersContext returns the context of the caller to which ctx belongs. It may outlast ctx: then
// the request is no longer wanted here, but the caller still has time to wait for its outcome.
func CallersContext(ctx context.Context) context.Context {
	if c, ok := ctx.(interface{ Caller() context.Context }); ok {
		return c.Caller()
	}
	return ctx
}
