package redis

import (
	"encoding"
	"reflect"
	"sync"
	"time"

	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/internal/errs"
)

// ArgMarshaler is a type that converts itself to an argument: a value of a type that
// [Request].Args lists. MarshalRedis must not return nil. Its error should not contain
// values: see [ResultUnmarshaler].
type ArgMarshaler interface {
	MarshalRedis() (any, error)
}

// marshaler makes an argument of a value, or says that it is absent.
type marshaler func(v reflect.Value) (arg any, absent bool, err error)

var (
	argMarshalerType    = reflect.TypeFor[ArgMarshaler]()
	textMarshalerType   = reflect.TypeFor[encoding.TextMarshaler]()
	binaryMarshalerType = reflect.TypeFor[encoding.BinaryMarshaler]()
)

// isMarshaler reports whether values of the type make arguments of themselves.
func isMarshaler(t reflect.Type) bool {
	return t.Implements(argMarshalerType) || t.Implements(textMarshalerType) || t.Implements(binaryMarshalerType)
}

// marshalers are those of all types that were asked for, or the error for which
// there are none.
var marshalers sync.Map

func marshalerOf(t reflect.Type) (marshaler, error) {
	if known, ok := marshalers.Load(t); ok {
		m, _ := known.(marshaler)
		return m, errs.Of(known)
	}
	m, err := newMarshaler(t)
	if err != nil {
		marshalers.Store(t, err)
		return nil, err
	}
	marshalers.Store(t, m)
	return m, nil
}

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

func marshalInterface(v reflect.Value) (any, bool, error) {
	if v.IsNil() {
		return nil, true, nil
	}
	m, err := marshalerOf(v.Elem().Type())
	if err != nil {
		return nil, false, err
	}
	return m(v.Elem())
}

// marshalCopy calls a method that takes a pointer.
func marshalCopy(v reflect.Value) (any, bool, error) {
	p := reflect.New(v.Type())
	p.Elem().Set(v)
	return marshalSelf(p)
}

func marshalSelf(v reflect.Value) (arg any, absent bool, err error) {
	method := "MarshalRedis"
	switch self := v.Interface().(type) {
	case ArgMarshaler:
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

// unitMarshaler is for times and durations, or pointers to them.
func unitMarshaler(u *unit) marshaler {
	return func(v reflect.Value) (arg any, absent bool, err error) {
		for v.Kind() == reflect.Pointer {
			if v.IsNil() {
				return nil, true, nil
			}
			v = v.Elem()
		}
		if u.date {
			arg, err = argDate(u, v.Interface().(time.Time))
		} else {
			arg, err = argDuration(u, time.Duration(v.Int()))
		}
		return arg, false, err
	}
}

// argDuration makes an argument of a duration.
func argDuration(u *unit, d time.Duration) (any, error) {
	n, ok := u.count(d)
	if !ok {
		return nil, errArgType("a duration of less than its unit, %s, can't be sent", u.name)
	}
	return n, nil
}

// argDate makes an argument of a time.
func argDate(u *unit, t time.Time) (any, error) {
	n, ok := u.countDate(t)
	if !ok {
		return nil, errArgType("a time out of the range of %s can't be sent", u.name)
	}
	return n, nil
}
