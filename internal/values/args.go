package values

import (
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/resp"
)

// Args is redis.Args.
func Args(values ...any) []any {
	size := 0
	for _, v := range values {
		size += argCount(v)
	}
	out := make([]any, 0, size)
	for _, v := range values {
		if command.IsArg(v) {
			out = append(out, v)
			continue
		}
		if more, err := appendArgs(out, v); err == nil {
			out = more
		} else {
			out = append(out, NewBad(err))
		}
	}
	return out
}

// argCount returns how many arguments Args makes from a value, at least approximately.
func argCount(v any) int {
	if command.IsArg(v) {
		return 1
	}
	switch rv := reflect.Indirect(reflect.ValueOf(v)); rv.Kind() {
	case reflect.Struct:
		if s, err := structArgsOf(rv.Type()); err == nil {
			return 2 * len(s)
		}
	case reflect.Slice, reflect.Map:
		return 2 * rv.Len()
	}
	return 1
}

func appendArgs(out []any, v any) ([]any, error) {
	rv := reflect.ValueOf(v)
	for rv.Kind() == reflect.Pointer && !isMarshaler(rv.Type()) && !endsInPointer(rv.Type()) {
		if rv.IsNil() {
			return out, errArgType("a nil %v can't be sent", rv.Type())
		}
		rv = rv.Elem()
	}
	switch t := rv.Type(); {
	case isMarshaler(t), isMarshaler(reflect.PointerTo(t)), t == badType, isScored(t):
		return appendElement(out, rv)
	case t.Kind() == reflect.Struct:
		return appendStruct(out, rv)
	case t.Kind() == reflect.Map:
		return appendMap(out, rv)
	case t.Kind() == reflect.Slice && !isBytes(t):
		return appendSlice(out, rv)
	}
	return appendElement(out, rv)
}

func appendElement(out []any, v reflect.Value) ([]any, error) {
	if v.Kind() == reflect.Interface && !v.IsNil() {
		v = v.Elem()
	}
	switch t := v.Type(); {
	case t == badType:
		return append(out, v.Interface()), nil
	case isScored(t):
		return appendScored(out, v)
	}
	arg, err := oneArg(v)
	if err != nil {
		return out, err
	}
	return append(out, arg), nil
}

// oneArg makes a single argument from a value.
func oneArg(v reflect.Value) (any, error) {
	marshal, err := marshalerOf(v.Type())
	if err != nil {
		return nil, err
	}
	arg, absent, err := marshal(v)
	if err == nil && absent {
		err = errArgType("a nil %v can't be sent", v.Type())
	}
	return arg, err
}

func appendSlice(out []any, list reflect.Value) ([]any, error) {
	for i := range list.Len() {
		var err error
		if out, err = appendElement(out, list.Index(i)); err != nil {
			return out, errs.Within(err, "element %d", i)
		}
	}
	return out, nil
}

func appendMap(out []any, m reflect.Value) ([]any, error) {
	type pair struct {
		key         string
		name, value any
	}
	pairs := make([]pair, 0, m.Len())
	for entry := m.MapRange(); entry.Next(); {
		name, err := oneArg(entry.Key())
		if err != nil {
			return out, errs.Within(err, "a key")
		}
		value, err := oneArg(entry.Value())
		if err != nil {
			return out, errs.Within(err, "a value")
		}
		key, _ := resp.ArgText(name)
		pairs = append(pairs, pair{key, name, value})
	}
	slices.SortFunc(pairs, func(a, b pair) int { return strings.Compare(a.key, b.key) })
	for _, p := range pairs {
		out = append(out, p.name, p.value)
	}
	return out, nil
}

// structArgs has the fields of a struct that Args sends.
type structArgs []fieldArg

type fieldArg struct {
	field
	name    any // the name, converted to an interface once
	marshal marshaler
}

var structArgsByType perType[structArgs]

func structArgsOf(t reflect.Type) (structArgs, error) { return structArgsByType.of(t, newStructArgs) }

func newStructArgs(t reflect.Type) (structArgs, error) {
	fields, err := fieldsOf(t)
	if err != nil {
		return nil, errArgType("%v", err)
	}
	if len(fields) == 0 && t.NumField() > 0 {
		return nil, errArgType("a %v has no fields that can be sent", t)
	}
	s := make(structArgs, len(fields))
	for i, f := range fields {
		s[i] = fieldArg{field: f, name: f.name, marshal: f.unit.marshaler()}
		if f.unit == nil {
			if s[i].marshal, err = marshalerOf(f.typ); err != nil {
				return nil, errs.Within(err, "%s", f.label)
			}
		}
	}
	return s, nil
}

func appendStruct(out []any, v reflect.Value) ([]any, error) {
	s, err := structArgsOf(v.Type())
	if err != nil {
		return out, err
	}
	for i := range s {
		f := &s[i]
		value := v.FieldByIndex(f.index)
		if f.optional && isZero(value) {
			continue
		}
		arg, absent, err := f.marshal(value)
		if err != nil {
			return out, errs.Within(err, "%s", f.label)
		}
		if !absent {
			out = append(out, f.name, arg)
		}
	}
	return out, nil
}

// isZero reports whether omitempty leaves the value out.
func isZero(v reflect.Value) bool {
	if k := v.Kind(); k == reflect.Slice || k == reflect.Map {
		return v.Len() == 0
	}
	if v.Type() == timeType {
		return v.Interface().(time.Time).IsZero()
	}
	return v.IsZero()
}

// scoredType is the interface of redis.Scored, and scoredParts splits such a value into member and
// score. Package redis sets them when the program starts, because redis.Scored exports no methods
// for this.
var (
	scoredType  = reflect.TypeFor[interface{ parts() }]()
	scoredParts func(v any) (score float64, member reflect.Value)
)

// Scored registers redis.Scored: only it implements T, and parts splits it.
func Scored[T any](parts func(T) (score float64, member reflect.Value)) {
	scoredType = reflect.TypeFor[T]()
	scoredParts = func(v any) (float64, reflect.Value) { return parts(v.(T)) }
}

func isScored(t reflect.Type) bool { return t.Implements(scoredType) }

func appendScored(out []any, v reflect.Value) ([]any, error) {
	if v.Kind() == reflect.Pointer && v.IsNil() {
		return out, errArgType("a nil %v can't be sent", v.Type())
	}
	score, member := scoredParts(v.Interface())
	arg, err := oneArg(member)
	if err != nil {
		return out, errs.Within(err, "a member")
	}
	return append(out, score, arg), nil
}

// ReadTuple reads a list into variables of type t: dsts holds a pointer for each element. Errors
// name the element.
func ReadTuple(t reflect.Type, res any, names []string, dsts ...any) error {
	list, ok := res.([]any)
	switch {
	case res == nil:
		return errNull(t)
	case !ok || len(list) != len(dsts):
		return mismatch(t, res)
	}
	for i, dst := range dsts {
		if err := Assign(dst, list[i]); err != nil {
			return errs.Within(err, "%s", names[i])
		}
	}
	return nil
}
