package values

import (
	"fmt"
	"reflect"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/resp"
)

// byUser returns an error for the error that a method of a user's type returned. It does not show
// the text of err, which may contain the value, unless err is an error of this library.
func byUser(kind *errorx.Type, err error, method string, t reflect.Type) error {
	if err == nil {
		return nil
	}
	if typed := errorx.Cast(errs.Plain(err)); typed != nil {
		return typed
	}
	return kind.New("%s of %v failed", method, t).WithProperty(errs.EKCause, err)
}

func errArgType(format string, args ...any) error {
	return errs.ErrArgumentType.New(format, args...)
}

// unfit returns the error of a result, or a part of one, that can't be read as a t. If it is a
// single value, text is its text.
func unfit(t reflect.Type, text []byte, res any) error {
	kind := t.Kind()
	switch {
	case res == nil:
		return errNull(t)
	case reflect.Int <= kind && kind <= reflect.Uintptr && resp.IsWhole(text),
		(kind == reflect.Float32 || kind == reflect.Float64) && resp.IsBeyondFloat(text):
		return errRange(t)
	}
	return mismatch(t, res)
}

// mismatch returns the error of a result, or a part of one, that can't be read as a want. If res is
// an error, mismatch returns that.
func mismatch(want reflect.Type, res any) error {
	if err := errs.Of(res); err != nil {
		return err
	}
	return errs.ErrResponseUnexpected.New("%s can't be read as %v", shown(res), want).
		WithProperty(errs.EKResponse, res)
}

// shown describes a result without its value.
func shown(res any) string {
	switch res.(type) {
	case []byte, string:
		return "this text"
	case []any:
		return "this array"
	case map[string]any:
		return "this map"
	}
	return fmt.Sprintf("a reply of type %T", res)
}

func errNull(want reflect.Type) error {
	return errs.ErrResponseNil.New("null can't be read as %v", want)
}

func errRange(want reflect.Type) error {
	return errs.ErrResponseUnexpected.New("the reply is out of the range of %v", want)
}
