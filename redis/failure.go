package redis

import (
	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/errs"
)

// Targets for errors.Is, which finds them at any depth of %w. See [Err] for the errors that
// match.
var (
	// Nil matches null where a value was asked for: [ErrResponseNil].
	Nil error = ErrResponseNil.New("null")
	// ErrRefused matches an [OutcomeRefused].
	ErrRefused error = ErrResult.New("the server answered with an error")
	// ErrNotSent matches an [OutcomeNotSent], in errors that [Err] returns.
	ErrNotSent error = errs.NotSent
	// ErrUnknown matches an [OutcomeUnknown], in errors that [Err] returns.
	ErrUnknown error = errs.Unknown
)

// Err returns res as an error if it is one, and nil otherwise. Unlike [AsError], it returns the
// error in the form in which the functions of this library return theirs:
//
//   - errors.Is(err, context.Canceled) and errors.Is(err, context.DeadlineExceeded) tell that a
//     context ended the request;
//   - errors.Is(err, Nil), [ErrRefused], [ErrNotSent] and [ErrUnknown] say what [OutcomeOf] says;
//   - errors.As with a [net.Error] finds a time-out, and errors.Is and errors.As any other error
//     of another library that was the cause;
//   - errors.As with an *errorx.Error, errorx.IsOfType and [AsErrorx] find the error itself. Its
//     type and traits are never those of its cause.
//
// Results are *errorx.Error, and so are the errors of AsError, Connect, NewCluster,
// SendTransaction and Next, except those that a context has caused. In an *errorx.Error,
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
