package errs

import (
	"fmt"
	"strings"

	"github.com/joomcode/errorx"
)

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
