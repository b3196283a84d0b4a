package redis

import (
	"math"
	"math/big"
	"reflect"
	"strconv"
)

// Scalar are the types that a single reply can be read as. Text is parsed if a number
// or a boolean is asked for: a server answers "3" to GET and 3 to INCR.
type Scalar interface {
	[]byte | string | int64 | float64 | bool
}

// Value are the types to which [As] and DoInto convert a reply without reflection.
type Value interface {
	Scalar |
		[][]byte | []string | []int64 | []float64 | []bool |
		map[string][]byte | map[string]string | map[string]int64 | map[string]float64 | map[string]bool
}

// As converts a result to a T. If the result is an error, As returns it as it is. The
// error is an [ErrResponseNil] for null, unless T is a slice, a map, a pointer or any,
// which are nil then, and an [ErrResponseUnexpected] if the result is not a T or does
// not fit into it. T is
//
//   - string, []byte, bool, a float or an integer type, or a type defined as one of
//     them;
//   - a [ResultUnmarshaler], [encoding.TextUnmarshaler] or
//     [encoding.BinaryUnmarshaler], tried in this order;
//   - a [time.Time], read as RFC 3339; a [time.Duration], read as Go writes it
//     ("1m30s"), not as a bare number: see [Seconds] and [Milliseconds];
//   - a pointer to, a slice of or a map of such types, or any, which is a string as the
//     key of a map, where a []byte can't be;
//   - a struct with such fields: see [Args] for their tags.
//
// Maps and structs are read from RESP3 maps, from arrays of names and values in turn,
// and from arrays of pairs. If the reply lacks a field, the error is an ErrResponseNil
// that names the field, unless it has the option omitempty, or is a pointer, a slice, a
// map or any. Names that the struct lacks are ignored. For a struct, an empty reply
// counts as null, since HGETALL answers so for a missing key.
func As[T any](res any) (T, error) {
	var v T
	err := assign(&v, res)
	if err != nil {
		var zero T
		return zero, err
	}
	return v, nil
}

// assign sets what dst points to.
func assign(dst, res any) error {
	if err := AsError(res); err != nil {
		return err
	}
	switch dst := dst.(type) {
	case *[]byte:
		return assignScalar(dst, res)
	case *string:
		return assignScalar(dst, res)
	case *int64:
		return assignScalar(dst, res)
	case *float64:
		return assignScalar(dst, res)
	case *bool:
		return assignScalar(dst, res)
	case *[][]byte:
		return assignSlice(dst, res)
	case *[]string:
		return assignSlice(dst, res)
	case *[]int64:
		return assignSlice(dst, res)
	case *[]float64:
		return assignSlice(dst, res)
	case *[]bool:
		return assignSlice(dst, res)
	case *map[string][]byte:
		return assignMap(dst, res)
	case *map[string]string:
		return assignMap(dst, res)
	case *map[string]int64:
		return assignMap(dst, res)
	case *map[string]float64:
		return assignMap(dst, res)
	case *map[string]bool:
		return assignMap(dst, res)
	}
	return assignPlanned(dst, res)
}

// assignPlanned is assign for types that take reflection.
func assignPlanned(dst, res any) error {
	v := reflect.ValueOf(dst).Elem()
	p, err := planOf(v.Type())
	if err != nil {
		return ErrResponseUnexpected.New("%v", err).WithProperty(EKResponse, res)
	}
	err = p.read(v, res)
	if typed := AsErrorx(err); typed != nil && typed.IsOfType(ErrResponseUnexpected) {
		// Of whatever depth it is: it says that the request was answered.
		if _, named := typed.Property(EKResponse); !named {
			return typed.WithProperty(EKResponse, res)
		}
	}
	return err
}

func assignScalar[T Scalar](dst *T, res any) error {
	var room [32]byte
	text, ok := scalarText(room[:0], res)
	if res == nil {
		if _, bytes := any(dst).(*[]byte); !bytes {
			return errNull(reflect.TypeFor[T]())
		}
	} else if !ok {
		return mismatch(reflect.TypeOf(*dst), res)
	}
	v, ok := parseScalar[T](text, res == nil)
	if !ok {
		return mismatch(reflect.TypeOf(*dst), res)
	}
	*dst = v
	return nil
}

func assignSlice[T Scalar](dst *[]T, res any) error {
	list, ok := res.([]any)
	if res == nil {
		*dst = nil
		return nil
	}
	if !ok {
		return mismatch(reflect.TypeOf(*dst), res)
	}
	out := make([]T, len(list))
	for i, el := range list {
		if err := assignElement(&out[i], el); err != nil {
			return err
		}
	}
	*dst = out
	return nil
}

func assignMap[T Scalar](dst *map[string]T, res any) error {
	if res == nil {
		*dst = nil
		return nil
	}
	n, ok := countPairs(res)
	if !ok {
		return mismatch(reflect.TypeOf(*dst), res)
	}
	out := make(map[string]T, n)
	err := eachPair(res, func(k, v any) error {
		key, ok := bytesToString(k)
		if !ok {
			return mismatch(reflect.TypeOf(*dst), res)
		}
		var value T
		if err := assignElement(&value, v); err != nil {
			return err
		}
		out[key] = value
		return nil
	})
	if err == nil {
		*dst = out
	}
	return err
}

// assignElement is assignScalar for a part of a reply, which may be an error.
func assignElement[T Scalar](dst *T, el any) error {
	if err := AsError(el); err != nil {
		return err
	}
	return assignScalar(dst, el)
}

// scalarText appends the text that res stands for to buf.
func scalarText(buf []byte, res any) ([]byte, bool) {
	switch v := res.(type) {
	case []byte:
		return v, true
	case string:
		return append(buf, v...), true
	case int64:
		return strconv.AppendInt(buf, v, 10), true
	case float64:
		return appendDouble(buf, v), true
	case bool:
		return strconv.AppendBool(buf, v), true
	case *big.Int:
		return v.Append(buf, 10), true
	}
	return nil, false
}

// appendDouble appends what parseDouble parses.
func appendDouble(buf []byte, v float64) []byte {
	switch {
	case math.IsInf(v, 1):
		return append(buf, "inf"...)
	case math.IsInf(v, -1):
		return append(buf, "-inf"...)
	case math.IsNaN(v):
		return append(buf, "nan"...)
	}
	return strconv.AppendFloat(buf, v, 'f', -1, 64)
}

// parseScalar makes a T of the text of a reply. The text may be reused.
func parseScalar[T Scalar](text []byte, null bool) (v T, ok bool) {
	switch v := any(&v).(type) {
	case *[]byte:
		if !null {
			*v = append([]byte{}, text...)
		}
		return *any(v).(*T), true
	case *string:
		*v = string(text)
		return *any(v).(*T), true
	case *int64:
		*v, ok = parseInt(text)
		return *any(v).(*T), ok
	case *float64:
		*v, ok = parseFloat(text)
		return *any(v).(*T), ok
	case *bool:
		*v, ok = parseBool(text)
		return *any(v).(*T), ok
	}
	return v, false
}

// parseBool knows the answers of Redis: 1 and 0, RESP3's truth values, and OK.
func parseBool(text []byte) (value, ok bool) {
	switch string(text) {
	case "1", "t", "true", "OK":
		return true, true
	case "0", "f", "false":
		return false, true
	}
	return false, false
}

func mismatch(want reflect.Type, res any) error {
	return ErrResponseUnexpected.New("a reply of type %T can't be read as %v", res, want).
		WithProperty(EKResponse, res)
}

func errNull(want reflect.Type) error {
	return ErrResponseNil.New("null can't be read as %v", want)
}

func errRange(want reflect.Type) error {
	return ErrResponseUnexpected.New("the reply is out of the range of %v", want)
}
