package errs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"syscall"

	"github.com/joomcode/errorx"
)

// Err is redis.Err.
func Err(res any) error {
	switch err := res.(type) {
	case *errorx.Error:
		if err == nil { // AsErrorx returns nil for no error
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

// typedIn returns err if it is an *errorx.Error, or the first one that it wraps.
func typedIn(err error) (typed *errorx.Error, found bool) {
	if typed, found = err.(*errorx.Error); found || err == nil {
		return typed, found
	}
	var wrapped *errorx.Error // a separate variable: typed would escape to the heap
	found = errors.As(err, &wrapped)
	return wrapped, found
}

// byContext reports whether a context ended the request, or ended the connection before it. For
// errors of other types it returns false even if a context is among their causes, because programs
// test the traits of these errors.
func byContext(err *errorx.Error) bool {
	return (err.IsOfType(ErrRequestCancelled) || err.IsOfType(ErrContextClosed)) &&
		(CausedBy(err, context.Canceled) || CausedBy(err, context.DeadlineExceeded))
}

// Of returns res as an error if it is one, so that it can become a part of a result, and nil
// otherwise.
func Of(res any) error {
	err, _ := res.(error)
	return Plain(err)
}

// Plain undoes Err: it returns the *errorx.Error inside a failure, and any other error unchanged.
func Plain(err error) error {
	if f, ok := err.(failure); ok {
		return f.err
	}
	return err
}

// failure makes an error of this library work with errors.Is and errors.As. For these, an
// *errorx.Error hides its causes, so that its type and traits are its own.
type failure struct{ err *errorx.Error }

// Error implements error.
func (f failure) Error() string { return f.err.Error() }

// Format implements fmt.Formatter and prints what the error prints.
func (f failure) Format(s fmt.State, verb rune) { f.err.Format(s, verb) }

// Unwrap returns the error inside.
func (f failure) Unwrap() error { return f.err }

// Is is called by errors.Is. It matches outcomes and the causes of other libraries.
func (f failure) Is(target error) bool {
	switch target := target.(type) {
	case Outcome:
		return OutcomeOf(f.err) == target
	case *errorx.Error: // errors.Is compares the error inside through Unwrap
		return false
	}
	return CausedBy(f.err, target)
}

// As is called by errors.As. It finds causes of other libraries.
func (f failure) As(target any) bool {
	if _, own := target.(**errorx.Error); own { // errors.As finds the error inside through Unwrap
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

// HungUp reports whether err says that the other side closed a connection. If it had not read all
// bytes, the system reports a reset instead of an end.
func HungUp(err error) bool {
	return slices.ContainsFunc([]error{io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE},
		func(end error) bool { return CausedBy(err, end) })
}

// causes calls yield with err, with its causes, and with the causes of the errors that it wraps.
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

// Because returns a copy of err, with the same type, text and properties, and one more cause. The
// cause of err stays a cause.
func Because(err *errorx.Error, why error) *errorx.Error {
	if cause := err.Cause(); cause != nil {
		why = fmt.Errorf("%w: %w", why, cause)
	}
	return Like(err, why, err.Message())
}

// Like returns an error with the type and the properties of err, and with the given text and cause.
// The cause may be nil. The result does not wrap err, because errorx adds a stack trace when it
// wraps an error that has none.
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

// Within returns a copy of err that names the part of a request or result that err is about. The
// copy has the type, cause and properties of err.
func Within(err error, format string, args ...any) *errorx.Error {
	inner := AsErrorx(err)
	return Like(inner, inner.Cause(), fmt.Sprintf(format, args...)+": "+inner.Message())
}

// Aborted returns the answer to EXEC. To an EXECABORT it adds the reason: refused is the first
// error with which a request of the transaction was not queued, or nil, and i is the index of that
// request. It also adds the reason if the number of results differs from the number of requests,
// because a proxy leaves out the requests that it refuses.
func Aborted(exec any, refused *errorx.Error, i int) any {
	failure, failed := exec.(*errorx.Error)
	if !failed || refused == nil {
		return exec
	}
	aborted := failure.IsOfType(ErrExecAbort)
	if !aborted && (!failure.IsOfType(ErrTransaction) || failure.Cause() != nil) {
		return exec
	}
	text := failure.Message()
	err := Like(failure, refused, fmt.Sprintf("%s: the request at index %d was refused", strings.TrimSuffix(text, "."), i))
	if req, named := refused.Property(EKRequest); named {
		err = err.WithProperty(EKRequest, req)
	}
	if aborted {
		err = err.WithProperty(EKText, text)
	}
	return err
}

// Replace replaces the errors in the results of EXEC by those that with returns.
func Replace(results []any, with func(i int, err *errorx.Error) *errorx.Error) {
	for i, el := range results {
		if err, failed := el.(*errorx.Error); failed {
			results[i] = with(i, err)
		}
	}
}

// Outcome is redis.Outcome. As an error it matches all errors with this outcome: see redis.Err.
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

// AddressOf returns the address of the server that an error is about, or "" if the error has none.
func AddressOf(err *errorx.Error) (addr string) {
	if err != nil {
		value, _ := err.Property(EKAddress)
		addr, _ = value.(string)
	}
	return addr
}

// Passes reports whether a server has refused a request for a temporary reason, or for one that
// does not apply to another node.
func Passes(err *errorx.Error) bool {
	return err != nil && (err.HasTrait(ErrTraitClusterMove) || err.HasTrait(ErrTraitTransient)) && !Stays(err)
}

// Stays reports whether the reason of a refusal is permanent for this sender, although the type of
// the error says that it is temporary.
func Stays(err *errorx.Error) bool {
	_, stays := err.Property(EKStays)
	return stays
}

// PermanentCause returns the first error, among err and its causes, that reconnecting cannot fix.
// It returns nil if there is none.
func PermanentCause(err *errorx.Error) *errorx.Error {
	for err != nil {
		if err.HasTrait(ErrTraitInitPermanent) {
			return err
		}
		err, _ = typedIn(err.Cause())
	}
	return nil
}

// Says reports whether res is a server's error whose text begins with the given words.
func Says(res any, words string) bool {
	err := AsErrorx(res)
	return err != nil && err.IsOfType(ErrResult) && strings.HasPrefix(err.Message(), words)
}
