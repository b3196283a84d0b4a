package values

import (
	"encoding"
	"reflect"
	"sync"
	"time"

	"github.com/joomcode/redispipe/internal/errs"
)

var (
	timeType     = reflect.TypeFor[time.Time]()
	durationType = reflect.TypeFor[time.Duration]()
	byteType     = reflect.TypeFor[byte]()
)

// pointersMost is how many pointers in a row are followed, because a type may point to itself.
const pointersMost = 32

// indirect returns t without its leading pointers. If there are too many, it returns a pointer
// type.
func indirect(t reflect.Type) reflect.Type {
	for i := 0; i < pointersMost && t.Kind() == reflect.Pointer; i++ {
		t = t.Elem()
	}
	return t
}

// endsInPointer reports whether a type has too many leading pointers.
func endsInPointer(t reflect.Type) bool { return indirect(t).Kind() == reflect.Pointer }

// isScalar reports whether readScalar can read the type.
func isScalar(t reflect.Type) bool {
	switch kind := t.Kind(); kind {
	case reflect.String, reflect.Bool, reflect.Float32, reflect.Float64:
		return true
	case reflect.Slice:
		return isBytes(t)
	default:
		return reflect.Int <= kind && kind <= reflect.Uintptr
	}
}

// isBytes reports whether the type is []byte, or is defined as []byte. A slice of a named 8-bit
// type is a list like any other.
func isBytes(t reflect.Type) bool { return t.Kind() == reflect.Slice && t.Elem() == byteType }

// hasText reports whether values of the type convert themselves from and to text.
func hasText(t reflect.Type) bool { return reflect.PointerTo(t).Implements(textUnmarshalerType) }

var textUnmarshalerType = reflect.TypeFor[encoding.TextUnmarshaler]()

// perType caches a value for each type, or the error with which making it has failed.
type perType[T any] struct{ made sync.Map }

// of returns the value for t. The first call for t calls build.
func (p *perType[T]) of(t reflect.Type, build func(reflect.Type) (T, error)) (T, error) {
	if v, known, err := p.known(t); known {
		return v, err
	}
	v, err := build(t)
	if err != nil {
		p.made.Store(t, err)
	} else {
		p.put(t, v)
	}
	return v, err
}

func (p *perType[T]) known(t reflect.Type) (v T, known bool, err error) {
	made, known := p.made.Load(t)
	if v, ok := made.(T); ok {
		return v, true, nil
	}
	return v, known, errs.Of(made)
}

func (p *perType[T]) put(t reflect.Type, v T) { p.made.Store(t, v) }
