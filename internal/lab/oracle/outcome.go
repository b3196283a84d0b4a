// Package oracle checks from the outside what a client did with requests: what it reported (Ledger,
// with the identity of values), what the server executed (ExecLog, Counter), and which resources it
// left in use (Resources). Fault tests send through a client, break things, and then ask for the
// Report.
//
// The oracle relies only on the contract of redis.Future. The tests of this package plant bugs in a
// toy client, and check that the oracle finds them.
package oracle

import (
	"errors"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/redis"
)

// Classify returns the outcome of a result by the library's contract. typed is false for an error
// that is not an *errorx.Error, which breaks the contract.
func Classify(res any) (o Outcome, typed bool) {
	err, isErr := res.(error)
	if !isErr {
		return Value, true
	}
	var e *errorx.Error
	if !errors.As(err, &e) {
		return Unknown, false
	}
	switch {
	case e.HasTrait(redis.ErrTraitNotSent):
		return NotSent, true
	case e.IsOfType(redis.ErrResult):
		return ServerError, true
	}
	return Unknown, true
}
