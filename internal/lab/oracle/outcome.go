// Package oracle judges what a client did to requests, from the outside: what
// it reported (Ledger, with the identity of values), what the server executed
// (ExecLog, Counter), and what it left behind (Resources). Fault tests send
// through a client, break things, and then ask for the Report.
//
// The oracle trusts nothing of a client but the redis.Future contract. That it
// catches bugs is itself tested, on a toy client with bugs planted in it.
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
