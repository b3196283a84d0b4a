package redis

import (
	"encoding"
	"fmt"
	"reflect"
	"sync"
)

// ResultUnmarshaler is a type that reads itself from a result, which is of any of the
// types that the package documentation lists under Results, except an error.
// UnmarshalRedis must not retain res. Its error should not contain values: As and
// DoInto return it as it is if it is an *errorx.Error, and otherwise as the property
// [EKCause] of an [ErrResponseUnexpected].
type ResultUnmarshaler interface {
	UnmarshalRedis(res any) error
}

var (
	resultUnmarshalerType = reflect.TypeFor[ResultUnmarshaler]()
	textUnmarshalerType   = reflect.TypeFor[encoding.TextUnmarshaler]()
	binaryUnmarshalerType = reflect.TypeFor[encoding.BinaryUnmarshaler]()
)

// plan reads results into variables of a type. It is made once for each type,
// and does not change.
type plan struct {
	read func(dst reflect.Value, res any) error
	// named: the type is made of names with values, as a struct or a map.
	named bool
	// pair: a list of such elements may be flat, see Scored.
	pair bool
}

// readElement is read for a part of a result, which may be an error.
func (p *plan) readElement(dst reflect.Value, el any) error {
	if err := AsError(el); err != nil {
		return err
	}
	return p.read(dst, el)
}

// plans are those of all types that were asked for: a *plan, or the error for
// which there is none.
var plans sync.Map

// planOf returns the plan of a type. The error names the type, and the field
// that prevents a plan.
func planOf(t reflect.Type) (*plan, error) {
	if known, ok := plans.Load(t); ok {
		p, _ := known.(*plan)
		return p, AsError(known)
	}
	made := planner{}
	p, err := made.plan(t)
	if err != nil {
		plans.Store(t, err)
		return nil, err
	}
	for t, p := range made {
		plans.Store(t, p)
	}
	return p, nil
}

// planner are the plans that are being made. A type that contains itself meets
// its own plan here, before that is complete.
type planner map[reflect.Type]*plan

func (made planner) plan(t reflect.Type) (*plan, error) {
	if p := made[t]; p != nil {
		return p, nil
	}
	p := &plan{}
	made[t] = p
	return p, made.fill(p, t)
}

func (made planner) fill(p *plan, t reflect.Type) (err error) {
	pointer := reflect.PointerTo(t)
	switch {
	case pointer.Implements(resultUnmarshalerType):
		p.pair = pointer.Implements(pairType)
		p.read = readUnmarshaler
	case t == durationType:
		p.read = readDuration
	case hasText(t):
		p.read = readText
	case pointer.Implements(binaryUnmarshalerType):
		p.read = readBinary
	default:
		return made.fillKind(p, t)
	}
	return nil
}

func (made planner) fillKind(p *plan, t reflect.Type) (err error) {
	switch kind := t.Kind(); {
	case kind == reflect.Pointer && !endsInPointer(t):
		return made.fillPointer(p, t)
	case kind == reflect.Struct:
		return made.fillStruct(p, t)
	case kind == reflect.Interface && t.NumMethod() == 0:
		p.read = readAny
	case kind == reflect.Slice && t.Elem().Kind() != reflect.Uint8:
		return made.fillSlice(p, t)
	case kind == reflect.Map:
		return made.fillMap(p, t)
	case isScalar(t):
		p.read = readScalar
	default:
		return fmt.Errorf("a result can't be read into a %v", t)
	}
	return nil
}

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

func (made planner) fillPointer(p *plan, t reflect.Type) error {
	elem, err := made.plan(t.Elem())
	if err != nil {
		return err
	}
	p.named = elem.named
	p.read = func(dst reflect.Value, res any) error { return readPointer(dst, elem, res) }
	return nil
}

// readPointer makes what a pointer is to point to, unless there is nothing.
func readPointer(dst reflect.Value, elem *plan, res any) error {
	if res == nil || elem.named && isEmpty(res) {
		dst.SetZero()
		return nil
	}
	v := reflect.New(dst.Type().Elem())
	if err := elem.read(v.Elem(), res); err != nil {
		return err
	}
	dst.Set(v)
	return nil
}

func (made planner) fillSlice(p *plan, t reflect.Type) error {
	elem, err := made.plan(t.Elem())
	if err != nil {
		return err
	}
	p.read = func(dst reflect.Value, res any) error {
		list, ok := res.([]any)
		if res != nil && !ok {
			return mismatch(t, res)
		}
		if res == nil {
			dst.SetZero()
			return nil
		}
		step := 1
		if elem.pair && isFlat(list) {
			step = 2
		}
		if len(list)%step != 0 {
			return mismatch(t, res)
		}
		out := reflect.MakeSlice(t, len(list)/step, len(list)/step)
		for i := range out.Len() {
			el := list[i]
			if step == 2 {
				el = list[2*i : 2*i+2]
			}
			if err := elem.readElement(out.Index(i), el); err != nil {
				return within(err, "element %d", i)
			}
		}
		dst.Set(out)
		return nil
	}
	return nil
}

func (made planner) fillMap(p *plan, t reflect.Type) error {
	key, err := made.plan(t.Key())
	if err != nil {
		return err
	}
	value, err := made.plan(t.Elem())
	if err != nil {
		return err
	}
	p.named = true
	p.read = func(dst reflect.Value, res any) error {
		if res == nil {
			dst.SetZero()
			return nil
		}
		n, ok := countPairs(res)
		if !ok {
			return mismatch(t, res)
		}
		out := reflect.MakeMapWithSize(t, n)
		err := eachPair(res, func(k, v any) error {
			to, el := reflect.New(t.Key()).Elem(), reflect.New(t.Elem()).Elem()
			if name, ok := k.([]byte); ok && to.Kind() == reflect.Interface {
				k = string(name)
			}
			if err := key.readElement(to, k); err != nil {
				return within(err, "a key")
			}
			if !to.Comparable() { // what it holds may be of any type
				return within(mismatch(t.Key(), k), "a key")
			}
			if err := value.readElement(el, v); err != nil {
				return within(err, "a value")
			}
			out.SetMapIndex(to, el)
			return nil
		})
		if err == nil {
			dst.Set(out)
		}
		return err
	}
	return nil
}
