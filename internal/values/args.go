package values

import (
	"reflect"
	"slices"
	"strings"

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

// argCount returns how many arguments Args makes of a value, at least roughly.
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
	case t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8:
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

// oneArg makes the one argument that a value is.
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
