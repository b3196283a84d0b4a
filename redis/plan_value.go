package redis

import (
	"encoding"
	"math"
	"reflect"
	"strconv"
	"time"
)

// readScalar sets a value of a basic kind, whatever its type is called.
func readScalar(dst reflect.Value, res any) error {
	t := dst.Type()
	if res == nil {
		if t.Kind() != reflect.Slice {
			return errNull(t)
		}
		dst.SetZero()
		return nil
	}
	var room [32]byte
	text, ok := scalarText(room[:0], res)
	if !ok {
		return mismatch(t, res)
	}
	switch setScalar(dst, text) {
	case scalarMalformed:
		return mismatch(t, res)
	case scalarOutOfRange:
		return errRange(t)
	}
	return nil
}

// What setScalar says of a text.
const (
	scalarSet = iota
	scalarMalformed
	scalarOutOfRange
)

func setScalar(dst reflect.Value, text []byte) int {
	switch kind := dst.Kind(); kind {
	case reflect.String:
		dst.SetString(string(text))
	case reflect.Slice:
		dst.SetBytes(append([]byte{}, text...))
	case reflect.Bool:
		v, ok := parseBool(text)
		if !ok {
			return scalarMalformed
		}
		dst.SetBool(v)
	case reflect.Float32, reflect.Float64:
		v, ok := parseFloat(text)
		if !ok {
			return scalarMalformed
		}
		if kind == reflect.Float32 && !math.IsInf(v, 0) && v == v {
			// Not v rounded: twice is not the same as once.
			if v, _ = strconv.ParseFloat(string(text), 32); math.IsInf(v, 0) {
				return scalarOutOfRange
			}
		}
		dst.SetFloat(v)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v, ok := parseInt(text)
		if !ok {
			return notInRange(text)
		}
		if dst.OverflowInt(v) {
			return scalarOutOfRange
		}
		dst.SetInt(v)
	default:
		v, ok := parseUint(text)
		if !ok {
			return notInRange(text)
		}
		if dst.OverflowUint(v) {
			return scalarOutOfRange
		}
		dst.SetUint(v)
	}
	return scalarSet
}

// notInRange tells a number that is too great from what is no number.
func notInRange(text []byte) int {
	if isWhole(text) {
		return scalarOutOfRange
	}
	return scalarMalformed
}

// readAny sets an empty interface to the result as it is.
func readAny(dst reflect.Value, res any) error {
	if res == nil {
		dst.SetZero()
		return nil
	}
	dst.Set(reflect.ValueOf(res))
	return nil
}

// readDuration reads a duration without a unit: in the text that Go writes. A
// bare number would leave open of what.
func readDuration(dst reflect.Value, res any) error {
	text, err := textFor(dst.Type(), res)
	if err != nil {
		return err
	}
	d, bad := time.ParseDuration(string(text))
	if bad != nil || isWhole(text) && string(text) != "0" {
		return ErrResponseUnexpected.New(
			"a reply of type %T can't be read as %v: use Seconds, Milliseconds or a field's unit for a number", res, dst.Type()).
			WithProperty(EKResponse, res)
	}
	dst.SetInt(int64(d))
	return nil
}

func readUnmarshaler(dst reflect.Value, res any) error {
	err := dst.Addr().Interface().(ResultUnmarshaler).UnmarshalRedis(res)
	return byUser(ErrResponseUnexpected, err, "UnmarshalRedis", dst.Type())
}

func readText(dst reflect.Value, res any) error {
	text, err := textFor(dst.Type(), res)
	if err != nil {
		return err
	}
	err = dst.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText(text)
	return byUser(ErrResponseUnexpected, err, "UnmarshalText", dst.Type())
}

func readBinary(dst reflect.Value, res any) error {
	text, err := textFor(dst.Type(), res)
	if err != nil {
		return err
	}
	err = dst.Addr().Interface().(encoding.BinaryUnmarshaler).UnmarshalBinary(text)
	return byUser(ErrResponseUnexpected, err, "UnmarshalBinary", dst.Type())
}

// textFor returns the text of a single value.
func textFor(t reflect.Type, res any) ([]byte, error) {
	if res == nil {
		return nil, errNull(t)
	}
	text, ok := scalarText(nil, res)
	if !ok {
		return nil, mismatch(t, res)
	}
	return text, nil
}
