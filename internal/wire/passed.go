package wire

import "context"

// Passed is the part of a future that passes its result on to another one, To: whatever
// a sender asks of the first, the second answers. To may be nil.
type Passed struct{ To Future }

// Cancelled implements redis.Future.
func (p Passed) Cancelled() error {
	if p.To == nil {
		return nil
	}
	return p.To.Cancelled()
}

// Context is for ContextOf.
func (p Passed) Context() context.Context { return ContextOf(p.To) }

// Queued implements Queuer.
func (p Passed) Queued(t Ticket) { Queued(p.To, t) }

// Observes implements Observer.
func (p Passed) Observes() bool { return Observes(p.To) }

// AnsweredBy implements Observer.
func (p Passed) AnsweredBy(at Place) { AnsweredBy(p.To, at) }

// Caller is for CallerOf.
func (p Passed) Caller() Caller { return CallerOf(p.To) }
