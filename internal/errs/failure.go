package errs

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/joomcode/errorx"
)

// Err is redis.Err.
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

// AsError is redis.AsError.
func AsError(res any) error {
	if err, ok := res.(*errorx.Error); ok && err != nil && !byContext(err) {
		return err
	}
	return Err(res)
}

// AsErrorx is redis.AsErrorx.
func AsErrorx(res any) *errorx.Error {
	err, ok := res.(error)
	if !ok {
		return nil
	}
	if typed, found := typedIn(err); found {
		return typed
	}
	return ErrResponseUnexpected.WrapWithNoMessage(err)
}

// typedIn returns err or, if that is no *errorx.Error, the one that it wraps.
func typedIn(err error) (typed *errorx.Error, found bool) {
	if typed, found = err.(*errorx.Error); found || err == nil {
		return typed, found
	}
	var wrapped *errorx.Error // not typed, which would be allocated
	found = errors.As(err, &wrapped)
	return wrapped, found
}

// byContext reports whether a context has ended a request, or the connection before it. Errors
// of other types have traits that programs ask for, whatever their cause is.
func byContext(err *errorx.Error) bool {
	return (err.IsOfType(ErrRequestCancelled) || err.IsOfType(ErrContextClosed)) &&
		(CausedBy(err, context.Canceled) || CausedBy(err, context.DeadlineExceeded))
}

// Of returns res if it is an error, to be a part of a result.
func Of(res any) error {
	err, _ := res.(error)
	return Plain(err)
}

// Plain returns what Err has made an error of, and any other error as it is.
func Plain(err error) error {
	if f, ok := err.(failure); ok {
		return f.err
	}
	return err
}

// failure shows an error of this library to errors.Is and errors.As. An *errorx.Error has no
// cause for them, so that its type and traits are its own.
type failure struct{ err *errorx.Error }

// Error implements error.
func (f failure) Error() string { return f.err.Error() }

// Format implements fmt.Formatter, as the error does.
func (f failure) Format(s fmt.State, verb rune) { f.err.Format(s, verb) }

// Unwrap returns the error.
func (f failure) Unwrap() error { return f.err }

// Is is for errors.Is: it looks at the outcome and at causes of other libraries.
func (f failure) Is(target error) bool {
	switch target := target.(type) {
	case Outcome:
		return OutcomeOf(f.err) == target
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

// CausedBy is redis.CausedBy.
func CausedBy(err, target error) bool {
	for cause := range causes(Plain(Err(err))) {
		if errors.Is(cause, target) {
			return true
		}
	}
	return false
}

// causes calls yield with err, and what it, or an error that it wraps, has as causes.
func causes(err error) func(yield func(error) bool) {
	return func(yield func(error) bool) {
		for err != nil {
			if !yield(err) {
				return
			}
			typed, found := typedIn(err)
			if !found {
				return
			}
			err = typed.Cause()
		}
	}
}

// Because returns an error that is like err, in its type, its text and its properties, and has
// another cause as well: that of err stays one.
func Because(err *errorx.Error, why error) *errorx.Error {
	if cause := err.Cause(); cause != nil {
		why = fmt.Errorf("%w: %w", why, cause)
	}
	return Like(err, why, err.Message())
}

// Like returns an error of the type and with the properties of err, with a text and a cause of
// its own, which may be nil. It does not wrap err: errorx adds a stack trace to what wraps an
// error that has none.
func Like(err *errorx.Error, cause error, text string) *errorx.Error {
	like := err.Type().New("%s", text)
	if cause != nil {
		like = err.Type().Wrap(cause, "%s", text)
	}
	for _, key := range Properties {
		if value, ok := err.Property(key); ok {
			like = like.WithProperty(key, value)
		}
	}
	return like
}

// Within returns an error that says which part of a request or result it is about, and else
// is like err: in its type, its cause and its properties.
func Within(err error, format string, args ...any) *errorx.Error {
	inner := AsErrorx(err)
	return Like(inner, inner.Cause(), fmt.Sprintf(format, args...)+": "+inner.Message())
}

// Aborted returns what EXEC answered, and with an EXECABORT the reason: refused is the first error
// with which a request of the transaction was not queued, if there is one, and i its index.
func Aborted(exec any, refused *errorx.Error, i int) any {
	abort, failed := exec.(*errorx.Error)
	if !failed || refused == nil || !abort.IsOfType(ErrExecAbort) {
		return exec
	}
	text := abort.Message()
	err := Like(abort, refused, fmt.Sprintf("%s: request %d was refused", strings.TrimSuffix(text, "."), i))
	if req, named := refused.Property(EKRequest); named {
		err = err.WithProperty(EKRequest, req)
	}
	return err.WithProperty(EKText, text)
}

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

// AddressOf returns the address of the server that an error is about, empty if it does not say.
func AddressOf(err *errorx.Error) (addr string) {
	if err != nil {
		value, _ := err.Property(EKAddress)
		addr, _ = value.(string)
	}
	return addr
}

// Passes reports whether a server refused a request for a reason that passes, or that another
// node does not have.
func Passes(err *errorx.Error) bool {
	return err != nil && (err.HasTrait(ErrTraitClusterMove) || err.HasTrait(ErrTraitTransient)) && !Stays(err)
}

// Stays reports whether the reason of an error does not pass for the sender, though its type says so.
func Stays(err *errorx.Error) bool {
	_, stays := err.Property(EKStays)
	return stays
}

// PermanentCause returns the first of an error and its causes that connecting again will
// not mend, nil if there is none.
func PermanentCause(err *errorx.Error) *errorx.Error {
	for err != nil {
		if err.HasTrait(ErrTraitInitPermanent) {
			return err
		}
		err, _ = typedIn(err.Cause())
	}
	return nil
}

// Says reports whether res is an error that a server answered with, in words that begin so.
func Says(res any, words string) bool {
	err := AsErrorx(res)
	return err != nil && err.IsOfType(ErrResult) && strings.HasPrefix(err.Message(), words)
}
