package values

import (
	"math"
	"reflect"
	"strconv"
	"time"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/resp"
)

// readScalar sets a value whose underlying type is basic.
func readScalar(dst reflect.Value, res any) error {
	kind := dst.Kind()
	if res == nil && kind == reflect.Slice {
		dst.SetZero()
		return nil
	}
	var room [32]byte
	text, single := resp.AppendResult(room[:0], res)
	switch {
	case !single:
	case kind == reflect.String:
		dst.SetString(string(text))
		return nil
	case kind == reflect.Slice:
		dst.SetBytes(append([]byte{}, text...))
		return nil
	case kind == reflect.Bool:
		if v, ok := resp.ParseBool(text); ok {
			dst.SetBool(v)
			return nil
		}
	case dst.CanFloat():
		if v, ok := resp.ParseFloat(text); ok {
			return setFloat(dst, v, text)
		}
	case dst.CanInt():
		text = wholeDigits(text, res)
		if v, ok := resp.ParseWhole(text); ok && !dst.OverflowInt(v) {
			dst.SetInt(v)
			return nil
		}
	default:
		text = wholeDigits(text, res)
		if v, ok := resp.ParseUint(text); ok && !dst.OverflowUint(v) {
			dst.SetUint(v)
			return nil
		}
	}
	return unfit(dst.Type(), text, res)
}

// wholeDigits returns all digits of a double that is an integer. The shortest text of the double
// may equal that of a different integer.
func wholeDigits(text []byte, res any) []byte {
	if v, ok := res.(float64); ok && v == math.Trunc(v) && !math.IsInf(v, 0) {
		return strconv.AppendFloat(text[:0], v, 'f', 0, 64)
	}
	return text
}

func setFloat(dst reflect.Value, v float64, text []byte) error {
	if dst.Kind() == reflect.Float32 && !math.IsInf(v, 0) && v == v {
		// parse the text instead of v: rounding twice may differ from rounding once
		if v, _ = strconv.ParseFloat(string(text), 32); math.IsInf(v, 0) {
			return errRange(dst.Type())
		}
	}
	dst.SetFloat(v)
	return nil
}

// readAny sets an empty interface to the result as it is.
func readAny(dst reflect.Value, res any) error {
	if err := errs.Of(res); err != nil {
		return err
	}
	if res == nil {
		dst.SetZero()
		return nil
	}
	dst.Set(reflect.ValueOf(res))
	return nil
}

// readDuration reads a duration that has no unit option: a text such as 1m30s. It refuses a bare
// number, whose unit is unknown.
func readDuration(dst reflect.Value, res any) error {
	text, err := textFor(dst.Type(), res)
	if err != nil {
		return err
	}
	d, bad := time.ParseDuration(string(text))
	if bad != nil || resp.IsWhole(text) && string(text) != "0" {
		return errs.ErrResponseUnexpected.New(
			"%s can't be read as %v: use Seconds, Milliseconds or a field's unit for a number", shown(res), dst.Type()).
			WithProperty(errs.EKResponse, res)
	}
	dst.SetInt(int64(d))
	return nil
}

func readUnmarshaler(dst reflect.Value, res any) error {
	if err := errs.Of(res); err != nil {
		return err
	}
	err := dst.Addr().Interface().(resultUnmarshaler).UnmarshalRedis(res)
	return byUser(errs.ErrResponseUnexpected, err, "UnmarshalRedis", dst.Type())
}

// readBy returns a function that passes the text of a single value to a method of the variable,
// which implements T.
func readBy[T any](method string, call func(T, []byte) error) func(dst reflect.Value, res any) error {
	return func(dst reflect.Value, res any) error {
		text, err := textFor(dst.Type(), res)
		if err != nil {
			return err
		}
		return byUser(errs.ErrResponseUnexpected, call(dst.Addr().Interface().(T), text), method, dst.Type())
	}
}

// textFor returns the text of a single value.
func textFor(t reflect.Type, res any) ([]byte, error) {
	text, ok := resp.AppendResult(nil, res)
	if !ok {
		return nil, unfit(t, nil, res)
	}
	return text, nil
}
