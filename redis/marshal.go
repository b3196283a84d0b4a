package redis

import (
	"encoding"
	"reflect"
	"sync"
	"time"

	"github.com/joomcode/errorx"
)

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
		return m, AsError(known)
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
		if err == nil && (arg == nil || !encodable(arg)) {
			err = errArgType("%s of %v made a %T", method, v.Type(), arg)
		}
	case encoding.TextMarshaler:
		method = "MarshalText"
		arg, err = self.MarshalText()
	case encoding.BinaryMarshaler:
		method = "MarshalBinary"
		arg, err = self.MarshalBinary()
	}
	return arg, false, byUser(ErrArgumentType, err, method, v.Type())
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

// byUser is the error of a method of a user's type. Only one of this library's
// kind is known to show no value.
func byUser(kind *errorx.Type, err error, method string, t reflect.Type) error {
	if err == nil {
		return nil
	}
	if typed, ok := err.(*errorx.Error); ok {
		return typed
	}
	return kind.New("%s of %v failed", method, t).WithProperty(EKCause, err)
}

func errArgType(format string, args ...any) error {
	return ErrArgumentType.New(format, args...)
}

// badArg stands for an argument that could not be made. A request with it is
// refused.
type badArg struct {
	// why is one error. It is in a slice so that escape analysis sees that an
	// error made of it holds no other argument: those stay on their caller's stack.
	why []error
}

func newBadArg(why error) badArg { return badArg{[]error{why}} }

// flatten implements flattener: it goes where the value would.
func (b badArg) flatten(out []any) ([]any, error) { return append(out, b), nil }
