package send

import "context"

// Judge connects a request with a client of several databases that has sent it to one of them. A sender that
// gets a request without a Judge, and with a future that is [Judged], may set the Judge instead of wrapping the
// future. Then the owner of the future calls Judge.Judged.
type Judge interface {
	// Judged is called with the result when the request is resolved or withdrawn, and returns the caller's
	// result. Counting every success would cost too much, so only a sample is counted: sample is how many
	// results this one stands for, or 0 if it is not in the sample. If the caller has left, nobody uses the
	// result of Judged.
	Judged(res any, sample uint64) any
	// Left returns an error if the request must not be sent to that database again.
	Left() error
	// Context ends when the database is no longer used. Then a request that waits for another attempt ends
	// its pause.
	Context() context.Context
}

// Judged is a future whose owner may take Request.Judge out of the request as soon as it is sent.
type Judged interface {
	// TakesJudge reports whether the owner takes the Judge.
	TakesJudge() bool
}

// TakesJudge reports whether the owner of fut takes a Judge.
func TakesJudge(fut any) bool {
	judged, ok := fut.(Judged)
	return ok && judged.TakesJudge()
}
