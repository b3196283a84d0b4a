package errs

import (
	"strings"

	"github.com/joomcode/errorx"
)

// Outcome is redis.Outcome. As an error it stands for all errors of one outcome: see redis.Err.
type Outcome uint8

// The outcomes of package redis.
const (
	Value Outcome = iota
	Refused
	NotSent
	Unknown
)

var outcomes = [...]string{"value", "refused", "not sent", "unknown"}

// String implements fmt.Stringer.
func (o Outcome) String() string { return outcomes[min(o, Unknown)] }

// Error implements error.
func (o Outcome) Error() string { return "redispipe: the outcome is " + o.String() }

// OutcomeOf is redis.OutcomeOf.
func OutcomeOf(res any) Outcome {
	err := AsErrorx(res)
	switch {
	case err == nil:
		return Value
	case err.IsOfType(ErrResult):
		return Refused
	case err.HasTrait(ErrTraitNotSent) || ErrOpts.IsNamespaceOf(err.Type()):
		return NotSent
	case err.IsOfType(ErrResponseNil):
		return Value
	case err.IsOfType(ErrResponseUnexpected):
		if _, answered := err.Property(EKResponse); answered {
			return Value
		}
	}
	return Unknown
}

// Passes reports whether a server refused a request for a reason that passes, or that another
// node does not have.
func Passes(err *errorx.Error) bool {
	return err.HasTrait(ErrTraitClusterMove) || err.HasTrait(ErrTraitTransient)
}

// Says reports whether res is an error that a server answered with, in words that begin so.
func Says(res any, words string) bool {
	err := AsErrorx(res)
	return err != nil && err.IsOfType(ErrResult) && strings.HasPrefix(err.Message(), words)
}
