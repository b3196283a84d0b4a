package redis

import (
	"errors"
	"fmt"

	"github.com/joomcode/redispipe/internal/errs"
)

// ResultError is the first error among the results of several requests.
type ResultError struct {
	Index int   // of the request
	Err   error // see [Err]
}

// Error implements error.
func (e *ResultError) Error() string { return fmt.Sprintf("request %d: %v", e.Index, e.Err) }

// Unwrap returns the error of the request.
func (e *ResultError) Unwrap() error { return e.Err }

// FirstError returns a *[ResultError] if any of the results, as SendMany and SendTransaction
// return them, is an error, and nil otherwise. [Collect] returns all errors.
func FirstError(results []any) error {
	for i, res := range results {
		if err := errs.Err(res); err != nil {
			return &ResultError{i, err}
		}
	}
	return nil
}

// isOfResult reports whether err is about one of several requests, which have run.
func isOfResult(err error) bool {
	var one *ResultError
	return errors.As(err, &one)
}
