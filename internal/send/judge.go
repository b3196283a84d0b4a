package send

import "context"

// Judge is what a client of several databases wants to know about a request that it has sent to one of
// them. A sender that gets a request whose Judge is nil, and a future that is [Judged], may set the Judge
// instead of wrapping the future. Then the owner of the future calls Judged of the Judge.
type Judge interface {
	// Judged is called with the result when the request is resolved, and returns the caller's result. So that
	// not every answer writes to memory, some answers stand for several ones, and the others for none: sample
	// tells for how many this one stands. If the caller has left, nobody uses the result of Judged.
	Judged(res any, sample uint64) any
	// Left returns an error if the request must not be sent to that database again.
	Left() error
	// Context ends when the database is no longer used. Then a request that waits for another attempt ends
	// its pause.
	Context() context.Context
}

// Judged is a future whose owner may take Request.Judge out of the request as soon as it is sent.
type Judged interface {
	// TakesJudge reports whether the owner does.
	TakesJudge() bool
}

// TakesJudge reports whether the owner of fut takes a Judge.
func TakesJudge(fut any) bool {
	judged, ok := fut.(Judged)
	return ok && judged.TakesJudge()
}
