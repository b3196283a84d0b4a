package values

import (
	"encoding"
	"reflect"
	"time"
)

var (
	timeType     = reflect.TypeFor[time.Time]()
	durationType = reflect.TypeFor[time.Duration]()
)

// pointersMost is how many pointers a type may have in a row: one that points to itself has
// no end of them.
const pointersMost = 32

// indirect returns the type without its pointers, or a pointer if there are too many.
func indirect(t reflect.Type) reflect.Type {
	for i := 0; i < pointersMost && t.Kind() == reflect.Pointer; i++ {
		t = t.Elem()
	}
	return t
}

// endsInPointer reports whether a type has too many pointers.
func endsInPointer(t reflect.Type) bool { return indirect(t).Kind() == reflect.Pointer }

// isScalar reports whether setScalar knows the type.
func isScalar(t reflect.Type) bool {
	switch kind := t.Kind(); kind {
	case reflect.String, reflect.Bool, reflect.Float32, reflect.Float64:
		return true
	case reflect.Slice:
		return t.Elem().Kind() == reflect.Uint8
	default:
		return reflect.Int <= kind && kind <= reflect.Uintptr
	}
}

// hasText reports whether values of the type are made of text by themselves.
func hasText(t reflect.Type) bool { return reflect.PointerTo(t).Implements(textUnmarshalerType) }

var textUnmarshalerType = reflect.TypeFor[encoding.TextUnmarshaler]()
