package redis

import (
	"fmt"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/values"
)

// Collect reads the results of requests, as SendMany and SendTransaction return them,
// into the variables that dsts point to, in order; see [As] for their types. If a dst
// is nil, or there are fewer dsts than results, any result without an error is
// accepted. Collect reads every result that can be read.
//
// If a result is an error or can't be read, Collect returns a *[BatchError], which has
// the error of each request. It returns an [ErrResponseUnexpected] if there are not as
// many results as requests, and an [ErrArgumentType] if there are more variables than
// requests, or one that no reply can be read into. In these two cases it reads nothing.
func Collect(reqs []Request, results []any, dsts ...any) error {
	switch {
	case len(results) != len(reqs):
		return errs.Err(errs.ErrResponseUnexpected.New("%d results of %d requests", len(results), len(reqs)))
	case len(dsts) > len(reqs):
		return errs.Err(errs.ErrArgumentType.New("%d variables for the results of %d requests", len(dsts), len(reqs)))
	}
	if err := checkTargets(dsts); err != nil {
		return err
	}
	var failed *BatchError
	for i, res := range results {
		err := errs.Of(res)
		switch {
		case err != nil:
			err = withRequest(err, reqs[i].Cmd, reqs[i].Args)
		case i < len(dsts) && dsts[i] != nil:
			v, _ := values.VariableOf(dsts[i])
			err = readInto(v, res, reqs[i].Cmd, reqs[i].Args)
		}
		if err != nil {
			if failed == nil {
				failed = &BatchError{Errors: make([]error, len(reqs))}
			}
			failed.Errors[i] = errs.Err(err)
		}
	}
	if failed != nil {
		return failed
	}
	return nil
}

// checkTargets returns an error if no reply can be read into one of the variables.
func checkTargets(dsts []any) error {
	for i, dst := range dsts {
		if _, err := values.VariableOf(dst); dst != nil && err != nil {
			return errs.Err(errs.Within(err, "variable %d", i))
		}
	}
	return nil
}

// BatchError is the error of several requests that were sent together.
type BatchError struct {
	// Errors has an element for each request, in order: nil, or an error that names the
	// request (EKRequest).
	Errors []error
}

// Error implements error. It shows the first error.
func (b *BatchError) Error() string {
	failed := b.Unwrap()
	if len(failed) == 0 {
		return "no request failed"
	}
	return fmt.Sprintf("%d of %d requests failed, first: %v", len(failed), len(b.Errors), failed[0])
}

// Unwrap returns the errors of the requests that failed, in their order, so that
// errors.As and [AsErrorx] find the first one.
func (b *BatchError) Unwrap() []error {
	var failed []error
	for _, err := range b.Errors {
		if err != nil {
			failed = append(failed, err)
		}
	}
	return failed
}
