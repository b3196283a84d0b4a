package errs

// Outcome is redis.Outcome. As an error it stands for all errors of one outcome: see redis.Err.
type Outcome uint8

// The outcomes of package redis.
const (
	Value Outcome = iota
	Refused
	NotSent
	Unknown
)

// String implements fmt.Stringer.
func (o Outcome) String() string {
	switch o {
	case Value:
		return "value"
	case Refused:
		return "refused"
	case NotSent:
		return "not sent"
	}
	return "unknown"
}

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
