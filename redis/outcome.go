package redis

import "github.com/joomcode/redispipe/internal/errs"

// Outcome is what became of a request.
type Outcome uint8

const (
	// OutcomeValue: the server answered with a value, null included.
	OutcomeValue Outcome = iota
	// OutcomeRefused: the server answered with an error (ErrResult).
	OutcomeRefused
	// OutcomeNotSent: no byte of the request was written to a socket; it did not run.
	OutcomeNotSent
	// OutcomeUnknown: no reply came that can be trusted; it may have run.
	OutcomeUnknown
)

// String implements fmt.Stringer.
func (o Outcome) String() string { return errs.Outcome(o).String() }

// OutcomeOf returns the outcome of a request that ended with res, which is a result or
// the error that a wrapper has made of one. If DoInto or As could not read a reply, the
// outcome is OutcomeValue, since the request ran. For errors of other libraries it is
// OutcomeUnknown.
func OutcomeOf(res any) Outcome {
	if res == any(ScanEOF) {
		return OutcomeValue
	}
	return Outcome(errs.OutcomeOf(res))
}

// SafeToRetry reports whether a request that ended with err can be sent again, even if it
// writes, because it did not run and may succeed next time: it was not sent
// ([ErrTraitNotSent]), or the server refused it for a reason that passes
// ([ErrTraitTransient]). It returns false for a malformed request, for a connection or
// cluster that is closed, for a [ResultError], and for nil.
//
// If the context has ended, use a new one. Let some time pass between attempts, and
// bound their number.
func SafeToRetry(err error) bool {
	failure := errs.AsErrorx(err)
	switch {
	case failure == nil, failure.IsOfType(errs.ErrContextClosed), isOfResult(err):
		return false
	case failure.HasTrait(errs.ErrTraitTransient), failure.IsOfType(errs.ErrRequestWithdrawn):
		return true
	case errs.ErrRequest.IsNamespaceOf(failure.Type()), errs.ErrOpts.IsNamespaceOf(failure.Type()):
		return false
	}
	return failure.HasTrait(errs.ErrTraitNotSent)
}

// CausedBy reports whether target is err or among its causes, as errors.Is does for errors that
// wrap with %w. It works for every error of this library; errors.Is only for those that [Err]
// returns.
//
// The cause of an [ErrRequestCancelled] is why the caller's context ended:
// context.Canceled or context.DeadlineExceeded. These may be the causes of other
// errors, too, such as a dial that took too long.
func CausedBy(err, target error) bool { return errs.CausedBy(err, target) }
