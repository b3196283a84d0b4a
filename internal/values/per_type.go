package values

import (
	"reflect"
	"sync"

	"github.com/joomcode/redispipe/internal/errs"
)

// perType keeps what was made for each type that was asked for, or the error for which there is
// none.
type perType[T any] struct{ made sync.Map }

// of returns what was made for t, and makes it first if that is missing.
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
