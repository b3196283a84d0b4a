package command

import (
	"math"
	"reflect"
	"strconv"
)

// IsArg reports whether an argument has a type that can be sent: nil, []byte, or a predeclared
// string, number or bool type.
func IsArg(arg any) bool {
	switch arg.(type) {
	case nil, string, []byte:
		return true
	}
	t := reflect.TypeOf(arg)
	return reflect.Bool <= t.Kind() && t.Kind() <= reflect.Float64 && t.PkgPath() == ""
}

// AppendNumber appends the text of an argument that is a number or a bool. It returns false for
// other types.
func AppendNumber(buf []byte, arg any) ([]byte, bool) {
	switch v := arg.(type) {
	case int:
		return strconv.AppendInt(buf, int64(v), 10), true
	case int64:
		return strconv.AppendInt(buf, v, 10), true
	case float32:
		return appendFloat(buf, float64(v), 32, 1<<24), true
	case float64:
		return appendFloat(buf, v, 64, 1<<53), true
	case bool:
		if v {
			return append(buf, '1'), true
		}
		return append(buf, '0'), true
	}
	switch v := reflect.ValueOf(arg); {
	case !IsArg(arg):
	case v.CanInt():
		return strconv.AppendInt(buf, v.Int(), 10), true
	case v.CanUint():
		return strconv.AppendUint(buf, v.Uint(), 10), true
	}
	return buf, false
}

// appendFloat appends the shortest decimal text of a number. For an integer below exact, that is
// its digits.
func appendFloat(buf []byte, v float64, bits int, exact float64) []byte {
	if v == math.Trunc(v) && math.Abs(v) < exact && (v != 0 || !math.Signbit(v)) {
		return strconv.AppendInt(buf, int64(v), 10)
	}
	return strconv.AppendFloat(buf, v, 'f', -1, bits)
}
