package redis

import (
	"context"
	"errors"
	"fmt"

	"github.com/joomcode/errorx"
)

// What errors.Is compares an error with, at any depth of %w. See [Err] for the errors in which
// it finds them.
var (
	// Nil is null where a value was asked for: [ErrResponseNil].
	Nil error = ErrResponseNil.New("null")
	// ErrRefused is an [OutcomeRefused].
	ErrRefused error = ErrResult.New("the server answered with an error")
	// ErrNotSent is an [OutcomeNotSent]. errors.Is needs what [Err] returns to find it.
	ErrNotSent error = outcomeError(OutcomeNotSent)
	// ErrUnknown is an [OutcomeUnknown]. errors.Is needs what [Err] returns to find it.
	ErrUnknown error = outcomeError(OutcomeUnknown)
)

// outcomeError stands for all errors of one outcome.
type outcomeError Outcome

// Error implements error.
func (e outcomeError) Error() string { return "redispipe: the outcome is " + Outcome(e).String() }

// Err returns res as an error if it is one, and nil otherwise, as [AsError] does, in the form in
// which the functions of this library return their errors:
//
//   - errors.Is(err, context.Canceled) and errors.Is(err, context.DeadlineExceeded) tell that a
//     context ended the request;
//   - errors.Is(err, Nil), [ErrRefused], [ErrNotSent] and [ErrUnknown] say what [OutcomeOf] says;
//   - errors.As with a [net.Error] finds a time-out, and errors.Is and errors.As any other error
//     of another library that was the cause;
//   - errors.As with an *errorx.Error, errorx.IsOfType and [AsErrorx] find the error itself. Its
//     type and traits are never those of its cause.
//
// Results are *errorx.Error, and so are the errors of AsError, of Connect, of NewCluster, of
// SendTransaction and of Next, except those that a context has caused. In these errors.Is finds
// Nil and ErrRefused, but neither ErrNotSent and ErrUnknown nor causes: give them to Err first.
func Err(res any) error {
	switch err := res.(type) {
	case *errorx.Error:
		if err == nil { // what AsErrorx returns of no error
			return nil
		}
		return failure{err}
	case error:
		return err
	}
	return nil
}

// AsError returns res as an error if it is one, and nil otherwise. It is the *errorx.Error that
// the result is, or [Err] of it if a context has caused it. Use [Err] for errors.Is with
// [ErrNotSent] or [ErrUnknown], and for causes.
func AsError(res any) error {
	switch err := res.(type) {
	case *errorx.Error:
		switch {
		case err == nil:
			return nil
		case byContext(err):
			return failure{err}
		}
		return err
	case error:
		return err
	}
	return nil
}

// byContext reports whether a context has ended a request, or the connection before it. Errors
// of other types have traits that programs ask for, whatever their cause is.
func byContext(err *errorx.Error) bool {
	return (err.IsOfType(ErrRequestCancelled) || err.IsOfType(ErrContextClosed)) &&
		(CausedBy(err, context.Canceled) || CausedBy(err, context.DeadlineExceeded))
}

// failure shows an error of this library to errors.Is and errors.As. An *errorx.Error has no
// cause for them, so that its type and traits are its own.
type failure struct{ err *errorx.Error }

// errorOf returns res if it is an error, to be a part of a result.
func errorOf(res any) error {
	err, _ := res.(error)
	return plain(err)
}

// plain returns what a failure shows, and any other error as it is.
func plain(err error) error {
	if f, ok := err.(failure); ok {
		return f.err
	}
	return err
}

// Error implements error.
func (f failure) Error() string { return f.err.Error() }

// Format implements fmt.Formatter, as the error does.
func (f failure) Format(s fmt.State, verb rune) { f.err.Format(s, verb) }

// Unwrap returns the error.
func (f failure) Unwrap() error { return f.err }

// Is is for errors.Is: it looks at the outcome and at causes of other libraries.
func (f failure) Is(target error) bool {
	switch target := target.(type) {
	case outcomeError:
		return OutcomeOf(f.err) == Outcome(target)
	case *errorx.Error: // Unwrap has what there is to compare
		return false
	}
	return CausedBy(f.err, target)
}

// As is for errors.As: it looks at causes of other libraries.
func (f failure) As(target any) bool {
	if _, own := target.(**errorx.Error); own { // Unwrap has it
		return false
	}
	for cause := range causes(f.err) {
		if errorx.Cast(cause) == nil && errors.As(cause, target) {
			return true
		}
	}
	return false
}

// causes calls yield with err, and what it, or an error that it wraps, has as causes.
func causes(err error) func(yield func(error) bool) {
	return func(yield func(error) bool) {
		for err != nil {
			var typed *errorx.Error
			if !yield(err) || !errors.As(err, &typed) {
				return
			}
			err = typed.Cause()
		}
	}
}
