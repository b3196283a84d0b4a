package redis

import "fmt"

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

// errors returns b.Errors, or nil if b is nil.
func (b *BatchError) errors() []error {
	if b == nil {
		return nil
	}
	return b.Errors
}

// Unwrap returns the errors of the requests that failed, in their order, so that errors.As and
// [AsErrorx] find the first one, and errors.Is any of them. If errors.Is finds [ErrNotSent], at
// least one of the requests was not sent; the others may have run.
func (b *BatchError) Unwrap() []error {
	var failed []error
	for _, err := range b.errors() {
		if err != nil {
			failed = append(failed, err)
		}
	}
	return failed
}
