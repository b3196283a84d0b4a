package redis

import (
	"errors"
	"fmt"
	"slices"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/send"
)

// Outcome tells what happened to a request.
type Outcome uint8

const (
	// OutcomeValue: the server answered with a value, null included.
	OutcomeValue Outcome = iota
	// OutcomeRefused: the server answered with an error (ErrResult).
	OutcomeRefused
	// OutcomeNotSent: no byte of the request was written to a socket, so it did not run.
	OutcomeNotSent
	// OutcomeUnknown: no trustworthy reply arrived; the request may have run.
	OutcomeUnknown
)

// String implements fmt.Stringer.
func (o Outcome) String() string { return errs.Outcome(o).String() }

// OutcomeOf returns the outcome of a request that ended with res, which is a result or
// the error that a wrapper has returned. If DoInto or As could not read a reply, the
// outcome is OutcomeValue, because the request ran. For errors of other libraries it is
// OutcomeUnknown. For a [BatchError], or errors of this library that [errors.Join]
// has joined, it is OutcomeUnknown unless all of their requests have the same outcome.
func OutcomeOf(res any) Outcome {
	err, isError := res.(error)
	if err == ScanEOF {
		return OutcomeValue
	}
	if isError {
		if joined := joinedIn(err); joined != nil {
			return outcomeOfAll(joined)
		}
	}
	return Outcome(errs.OutcomeOf(res))
}

// outcomeOfAll returns the outcome of several requests, or OutcomeUnknown if their outcomes differ.
func outcomeOfAll(joined []error) Outcome {
	all := OutcomeUnknown
	for i, err := range joined {
		of := OutcomeOf(err)
		if i > 0 && of != all {
			return OutcomeUnknown
		}
		all = of
	}
	return all
}

// joinedIn returns the errors of a BatchError, or the errors of this library that were joined
// to err. It returns nil if err is about one request.
func joinedIn(err error) []error {
	for {
		switch e := err.(type) {
		case *BatchError:
			return e.errors()
		case interface{ Unwrap() []error }:
			own := slices.DeleteFunc(slices.Clone(e.Unwrap()), func(err error) bool {
				return !errors.As(err, new(*errorx.Error))
			})
			if len(own) != 1 {
				return own
			}
			err = own[0]
		case interface{ Unwrap() error }:
			err = e.Unwrap()
		default:
			return nil
		}
	}
}

// SafeToRetry reports whether you may send a request that failed with err again, even if it writes,
// because it did not run and may succeed next time: it was not sent ([ErrTraitNotSent]), or the
// server refused it for a temporary reason ([ErrTraitTransient]), also within a transaction.
// SafeToRetry returns false for a malformed request, for a closed connection or cluster, for a
// [ResultError], and for nil. It also returns false if there is no connection for a reason that a
// retry can't change, such as a wrong password, an untrusted certificate or a server that is not a
// Redis, and if a replica has refused a write on a connection to one server. For a [BatchError], or
// errors of this library that [errors.Join] has joined, it returns true only if all requests failed
// and you may send each of them again.
//
// If the context has ended, use a new one. Pause between attempts, and limit their number.
func SafeToRetry(err error) bool {
	if joined := joinedIn(err); joined != nil {
		return len(joined) > 0 && !slices.ContainsFunc(joined, func(err error) bool { return !SafeToRetry(err) })
	}
	failure := errs.AsErrorx(err)
	again := send.Nature{}.After(failure)
	return (again.Waits() || again == send.AgainCrowded && errs.PermanentCause(failure) == nil) && !isOfResult(err)
}

// AttemptsOf returns the errors of all attempts, in order, of a request that failed with err, if
// [WithRetry] has sent it again. Otherwise it returns nil. It returns at most the first 16 errors.
// Like errors of [Err], they work with errors.Is.
func AttemptsOf(err error) []error {
	failure := errs.AsErrorx(err)
	if failure == nil {
		return nil
	}
	attempts, _ := failure.Property(errs.EKAttempts)
	all, _ := attempts.([]error)
	return slices.Clone(all)
}

// CausedBy reports whether target is err or among its causes, as errors.Is does for errors that
// wrap with %w. It works for every error of this library, whereas errors.Is works only for those
// that [Err] returns.
//
// The cause of an [ErrRequestCancelled] is the reason why the caller's context ended:
// context.Canceled or context.DeadlineExceeded. Other errors may also have these
// causes, for example a dial that took too long.
func CausedBy(err, target error) bool { return errs.CausedBy(err, target) }

// Targets for errors.Is, which also finds them in errors wrapped with %w. See [Err] for the errors
// that match.
var (
	// Nil matches null for a type that can't be nil: [ErrResponseNil].
	Nil error = ErrResponseNil.New("null")
	// ErrRefused matches an [OutcomeRefused].
	ErrRefused error = ErrResult.New("the server answered with an error")
	// ErrNotSent matches an [OutcomeNotSent], in errors that [Err] returns.
	ErrNotSent error = errs.NotSent
	// ErrUnknown matches an [OutcomeUnknown], in errors that [Err] returns.
	ErrUnknown error = errs.Unknown
)

// Err returns res as an error if it is one, and nil otherwise. Unlike [AsError], it returns an
// error that works with errors.Is and errors.As, like the other functions of this library:
//
//   - errors.Is(err, context.Canceled) and errors.Is(err, context.DeadlineExceeded) report that a
//     context ended the request;
//   - errors.Is with [Nil], [ErrRefused], [ErrNotSent] or [ErrUnknown] agrees with [OutcomeOf];
//   - errors.As with a [net.Error] finds a time-out, and errors.Is and errors.As find an error
//     of another library that was the cause;
//   - errors.As with an *errorx.Error, errorx.IsOfType and [AsErrorx] find the error itself. It
//     has its own type and traits, never those of its cause.
//
// Results are *errorx.Error, and so are the errors of AsError, Connect, NewCluster,
// SendTransaction and Next, unless a context has caused them. In an *errorx.Error,
// errors.Is finds Nil and ErrRefused, but not ErrNotSent, ErrUnknown or causes: pass it to Err
// first.
func Err(res any) error { return errs.Err(res) }

// AsError returns res as an error if it is one, and nil otherwise. The error is the
// *errorx.Error itself, or [Err] of it if a context has caused it. Use [Err] for errors.Is with
// [ErrNotSent] or [ErrUnknown], and for causes.
func AsError(res any) error { return errs.AsError(res) }

// AsErrorx returns res as an *errorx.Error if it is an error, and nil otherwise. An
// error of another type is wrapped: see errorx.Cast for the cause.
func AsErrorx(res any) *errorx.Error { return errs.AsErrorx(res) }

// ResultError is the first error among the results of several requests.
type ResultError struct {
	Index int   // index of the request
	Err   error // the error of the request: see [Err]
}

// Error implements error.
func (e *ResultError) Error() string {
	if e == nil {
		return "no request failed"
	}
	return fmt.Sprintf("the request at index %d: %v", e.Index, e.Err)
}

// Unwrap returns the error of the request.
func (e *ResultError) Unwrap() error {
	if e == nil {
		return nil
	}
	return e.Err
}

// FirstError returns a *[ResultError] if any of the results of SendMany or SendTransaction is an
// error, and nil otherwise. To get all errors, use [Collect].
func FirstError(results []any) error {
	for i, res := range results {
		if err := errs.Err(res); err != nil {
			return &ResultError{i, err}
		}
	}
	return nil
}

// isOfResult reports whether err is the error of one request among several that have run.
func isOfResult(err error) bool {
	var one *ResultError
	return errors.As(err, &one)
}
