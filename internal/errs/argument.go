package errs

import "reflect"

// IsNil reports whether a user's value is nil or a nil pointer. Methods of such a value may panic.
func IsNil(v any) bool {
	of := reflect.ValueOf(v)
	return v == nil || of.Kind() == reflect.Pointer && of.IsNil()
}
