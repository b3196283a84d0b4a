package oracle

import (
	"fmt"

	"github.com/joomcode/redispipe/redistest/ledger"
)

// These are short names for the types of package ledger.
type (
	Outcome   = ledger.Outcome
	Report    = ledger.Report
	Violation = ledger.Violation
	Check     = ledger.Check
)

// The outcomes of requests.
const (
	None        = ledger.None
	Issued      = ledger.Issued
	Value       = ledger.Value
	ServerError = ledger.ServerError
	NotSent     = ledger.NotSent
	Unknown     = ledger.Unknown
)

// These are the broken promises that the ledger finds, and two more that only this library makes.
const (
	Lost         = ledger.Lost
	Double       = ledger.Double
	Mixed        = ledger.Mixed
	FalseNotSent = ledger.FalseNotSent
	Duplicated   = ledger.Duplicated
	Missing      = ledger.Missing
	Disordered   = ledger.Disordered

	Untyped Violation = "untyped" // an error that is not an *errorx.Error
	Leaked  Violation = "leaked"  // a goroutine outlived Close
)

// Ledger is a ledger that is also the redis.Future of all its requests. n is the ID of a request.
type Ledger struct{ *ledger.Ledger }

// NewLedger returns a Ledger. Tags begin with name, which must be unique among the ledgers that
// write to one server.
func NewLedger(name string) *Ledger { return &Ledger{ledger.New(name)} }

// Resolve implements redis.Future.
func (l *Ledger) Resolve(res any, id uint64) {
	outcome, typed := Classify(res)
	if !typed {
		l.Report.Violate(Untyped, "%s: %T: %s", l.Tag(id), res, show(res))
	}
	l.End(id, outcome, res)
}

// Cancelled implements redis.Future.
func (l *Ledger) Cancelled() error { return nil }

// leaked records leaked goroutines by their stacks.
func leaked(r *Report, stacks []string) {
	for _, stack := range stacks {
		r.Violate(Leaked, "%s", stack)
	}
}

// show formats a result, which it shortens.
func show(res any) string {
	s := fmt.Sprintf("%v", res)
	if b, ok := res.([]byte); ok {
		s = fmt.Sprintf("%q", b)
	}
	return s[:min(len(s), 200)]
}
