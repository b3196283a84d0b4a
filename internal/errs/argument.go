package errs

import "reflect"

// IsNil reports whether an argument of a user's is nil, or a nil pointer, whose methods may panic.
func IsNil(v any) bool {
	of := reflect.ValueOf(v)
	return v == nil || of.Kind() == reflect.Pointer && of.IsNil()
}
