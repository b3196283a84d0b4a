package values

import (
	"encoding"
	"errors"
	"fmt"
	"reflect"

	"github.com/joomcode/redispipe/internal/errs"
)

// resultUnmarshaler is redis.ResultUnmarshaler.
type resultUnmarshaler interface{ UnmarshalRedis(res any) error }

var (
	resultUnmarshalerType = reflect.TypeFor[resultUnmarshaler]()
	binaryUnmarshalerType = reflect.TypeFor[encoding.BinaryUnmarshaler]()
)

// plan tells how to read results into variables of one type. It is made once for each type and does
// not change.
type plan struct {
	read func(dst reflect.Value, res any) error
	// named is set if the type holds names with values, like a struct or a map.
	named bool
	// pair is set if a list of elements of this type may be flat: see Scored.
	pair bool
	// partial is set if the variable may be partly set after an error.
	partial bool

	elem, key *plan // elem is for a pointer, a slice or a map, key is for a map
	fields    []fieldPlan
	byName    map[string]int // index in fields
}

var plans perType[*plan]

// planOf returns the plan of a type. Its error names the type, and the field that is at fault.
func planOf(t reflect.Type) (*plan, error) { return plans.of(t, newPlan) }

func newPlan(t reflect.Type) (*plan, error) {
	made := planner{}
	p, err := made.plan(t)
	if err != nil {
		return nil, err
	}
	for t, p := range made {
		plans.put(t, p)
	}
	return p, nil
}

// planner holds the unfinished plans, by type. A type that contains itself finds its own plan here.
type planner map[reflect.Type]*plan

func (made planner) plan(t reflect.Type) (*plan, error) {
	if p := made[t]; p != nil {
		return p, nil
	}
	if p, known, err := plans.known(t); known {
		return p, err
	}
	p := &plan{}
	made[t] = p
	return p, made.fill(p, t)
}

func (made planner) fill(p *plan, t reflect.Type) (err error) {
	pointer := reflect.PointerTo(t)
	switch {
	case pointer.Implements(resultUnmarshalerType):
		p.pair = isScored(pointer)
		p.read, p.partial = readUnmarshaler, true
	case t == durationType:
		p.read = readDuration
	case hasText(t):
		p.read, p.partial = readBy("UnmarshalText", encoding.TextUnmarshaler.UnmarshalText), true
	case pointer.Implements(binaryUnmarshalerType):
		p.read, p.partial = readBy("UnmarshalBinary", encoding.BinaryUnmarshaler.UnmarshalBinary), true
	default:
		return made.fillKind(p, t)
	}
	return nil
}

func (made planner) fillKind(p *plan, t reflect.Type) (err error) {
	switch kind := t.Kind(); {
	case kind == reflect.Pointer && !endsInPointer(t):
		p.read = p.readPointer
		if p.elem, err = made.plan(t.Elem()); err == nil {
			p.named = p.elem.named
		}
	case kind == reflect.Struct:
		p.read = p.readStruct
		err = made.fillStruct(p, t)
	case kind == reflect.Interface && t.NumMethod() == 0:
		p.read = readAny
	case kind == reflect.Slice && !isBytes(t):
		p.read = p.readList
		p.elem, err = made.plan(t.Elem())
	case kind == reflect.Map:
		p.named, p.read = true, p.readMap
		if t == reflect.TypeFor[map[string]string]() {
			p.read = p.readTexts
		}
		if p.key, err = made.plan(t.Key()); err == nil {
			p.elem, err = made.plan(t.Elem())
		}
	case isScalar(t):
		p.read = readScalar
	default:
		err = fmt.Errorf("a result can't be read into a %v", t)
	}
	return err
}

// readPointer allocates the target of a pointer and reads into it. A null leaves the pointer nil.
func (p *plan) readPointer(dst reflect.Value, res any) error {
	if res == nil || p.elem.named && isEmpty(res) {
		dst.SetZero()
		return nil
	}
	v := reflect.New(dst.Type().Elem())
	if err := p.elem.read(v.Elem(), res); err != nil {
		return err
	}
	dst.Set(v)
	return nil
}

// readList reads the elements of a result. A list of pairs may be flat.
func (p *plan) readList(dst reflect.Value, res any) error {
	if res == nil {
		dst.SetZero()
		return nil
	}
	list, ok := res.([]any)
	step := 1
	if p.elem.pair && isFlat(list) {
		step = 2
	}
	if !ok || len(list)%step != 0 {
		return mismatch(dst.Type(), res)
	}
	n := len(list) / step
	out := reflect.MakeSlice(dst.Type(), n, n)
	for i := range n {
		el := list[i]
		if step == 2 {
			el = list[2*i : 2*i+2]
		}
		if err := p.elem.read(out.Index(i), el); err != nil {
			return errs.Within(err, "element %d", i)
		}
	}
	dst.Set(out)
	return nil
}

// readTexts is readMap for a map[string]string.
func (p *plan) readTexts(dst reflect.Value, res any) error {
	if texts := textsOf(res); texts != nil {
		dst.Set(reflect.ValueOf(texts))
		return nil
	}
	return p.readMap(dst, res)
}

// errNoText ends the loop of textsOf.
var errNoText = errors.New("a name or a value is not text")

// textsOf returns names with texts, as in an answer to HGETALL, without reflection. If one of them
// is not text, it returns nil.
func textsOf(res any) map[string]string {
	n, ok := countPairs(res)
	if !ok {
		return nil
	}
	texts := make(map[string]string, n)
	if eachPair(res, func(k, v any) error {
		value, ok := v.([]byte)
		if !ok {
			return errNoText
		}
		switch name := k.(type) {
		case []byte:
			texts[string(name)] = string(value)
		case string:
			texts[name] = string(value)
		default:
			return errNoText
		}
		return nil
	}) != nil {
		return nil
	}
	return texts
}

// readMap reads names with values.
func (p *plan) readMap(dst reflect.Value, res any) error {
	if res == nil {
		dst.SetZero()
		return nil
	}
	t := dst.Type()
	n, ok := countPairs(res)
	if !ok {
		return mismatch(t, res)
	}
	out := reflect.MakeMapWithSize(t, n)
	name, el := reflect.New(t.Key()).Elem(), reflect.New(t.Elem()).Elem()
	err := eachPair(res, func(k, v any) error {
		name.SetZero()
		el.SetZero()
		if err := readKey(p.key, name, k); err != nil {
			return errs.Within(err, "a key")
		}
		if err := p.elem.read(el, v); err != nil {
			return errs.Within(err, "a value")
		}
		out.SetMapIndex(name, el)
		return nil
	})
	if err == nil {
		dst.Set(out)
	}
	return err
}

// readKey reads the key of a map.
func readKey(p *plan, dst reflect.Value, name any) error {
	if text, ok := name.([]byte); ok && dst.Kind() == reflect.Interface {
		name = string(text)
	}
	if err := p.read(dst, name); err != nil {
		return err
	}
	switch dst.Kind() {
	case reflect.Interface, reflect.Struct, reflect.Array: // a key of these kinds may hold a value that is not comparable
		if !dst.Comparable() {
			return mismatch(dst.Type(), name)
		}
	}
	return nil
}
