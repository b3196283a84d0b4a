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

// Outcome is how a request ended.
type Outcome uint32

// The states of a request. Issued moves to one of the others, once.
const (
	None Outcome = iota // no such request
	Issued
	Value       // a reply that is no error
	ServerError // a reply that is an error
	NotSent     // provably no byte of it was written
	Unknown     // it may have run
	outcomes
)

// String returns the outcome's name.
func (o Outcome) String() string {
	return [...]string{"none", "issued", "value", "server error", "not sent", "unknown", "?"}[min(o, outcomes)]
}

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
