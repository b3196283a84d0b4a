package values

import (
	"encoding"
	"reflect"
	"time"

	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/internal/errs"
)

// argMarshaler is redis.ArgMarshaler.
type argMarshaler interface{ MarshalRedis() (any, error) }

// marshaler turns a value into an argument, or reports that the value is absent.
type marshaler func(v reflect.Value) (arg any, absent bool, err error)

var (
	argMarshalerType    = reflect.TypeFor[argMarshaler]()
	textMarshalerType   = reflect.TypeFor[encoding.TextMarshaler]()
	binaryMarshalerType = reflect.TypeFor[encoding.BinaryMarshaler]()
)

// isMarshaler reports whether values of type t have a method that makes an argument.
func isMarshaler(t reflect.Type) bool {
	return t.Implements(argMarshalerType) || t.Implements(textMarshalerType) || t.Implements(binaryMarshalerType)
}

var marshalers perType[marshaler]

func marshalerOf(t reflect.Type) (marshaler, error) { return marshalers.of(t, newMarshaler) }

func newMarshaler(t reflect.Type) (marshaler, error) {
	switch kind := t.Kind(); {
	case kind == reflect.Interface:
		return marshalInterface, nil
	case kind == reflect.Pointer && isMarshaler(t):
		return unlessNil(marshalSelf), nil
	case kind == reflect.Pointer && !endsInPointer(t):
		elem, err := marshalerOf(t.Elem())
		return unlessNil(func(v reflect.Value) (any, bool, error) { return elem(v.Elem()) }), err
	case isMarshaler(t):
		return marshalSelf, nil
	case isMarshaler(reflect.PointerTo(t)):
		return marshalCopy, nil
	case t == durationType:
		return func(v reflect.Value) (any, bool, error) { return time.Duration(v.Int()).String(), false, nil }, nil
	case isScalar(t):
		return marshalScalar, nil
	}
	return nil, errArgType("a %v can't be sent as an argument", t)
}

func unlessNil(m marshaler) marshaler {
	return func(v reflect.Value) (any, bool, error) {
		if v.IsNil() {
			return nil, true, nil
		}
		return m(v)
	}
}

// marshalInterface follows interfaces and pointers to a value. It returns an error after too many
// of them, because a value may point to itself.
func marshalInterface(v reflect.Value) (any, bool, error) {
	for range pointersMost {
		if k := v.Kind(); k != reflect.Interface && (k != reflect.Pointer || isMarshaler(v.Type())) {
			m, err := marshalerOf(v.Type())
			if err != nil {
				return nil, false, err
			}
			return m(v)
		}
		if v.IsNil() {
			return nil, true, nil
		}
		v = v.Elem()
	}
	return nil, false, errArgType("there are too many pointers on the way to the value")
}

// marshalCopy calls a method with a pointer receiver on a copy of the value.
func marshalCopy(v reflect.Value) (any, bool, error) {
	p := reflect.New(v.Type())
	p.Elem().Set(v)
	return marshalSelf(p)
}

func marshalSelf(v reflect.Value) (arg any, absent bool, err error) {
	method := "MarshalRedis"
	switch self := v.Interface().(type) {
	case argMarshaler:
		arg, err = self.MarshalRedis()
		if err == nil && (arg == nil || !command.IsArg(arg)) {
			err = errArgType("%s of %v made a %T", method, v.Type(), arg)
		}
	case encoding.TextMarshaler:
		method = "MarshalText"
		arg, err = self.MarshalText()
	case encoding.BinaryMarshaler:
		method = "MarshalBinary"
		arg, err = self.MarshalBinary()
	}
	return arg, false, byUser(errs.ErrArgumentType, err, method, v.Type())
}

func marshalScalar(v reflect.Value) (any, bool, error) {
	switch kind := v.Kind(); kind {
	case reflect.String:
		return v.String(), false, nil
	case reflect.Slice:
		return v.Bytes(), false, nil
	case reflect.Bool:
		return v.Bool(), false, nil
	case reflect.Float32:
		return float32(v.Float()), false, nil
	case reflect.Float64:
		return v.Float(), false, nil
	default:
		if v.CanInt() {
			return v.Int(), false, nil
		}
		return v.Uint(), false, nil
	}
}
