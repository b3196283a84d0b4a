package redis

import (
	"reflect"
	"slices"
	"strings"

	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/resp"
)

// Args converts values to the arguments of a request. Each value is replaced:
//
//   - a value of a type that [Request].Args lists: by itself;
//   - an [ArgMarshaler], [encoding.TextMarshaler] or [encoding.BinaryMarshaler],
//     tried in this order: by what it returns;
//   - a value of a type defined as one that Request.Args lists: by that value;
//   - a [time.Time]: by text in RFC 3339; a [time.Duration]: by text as Go writes
//     it ("1m30s"), see [Seconds] for a number;
//   - a pointer or an interface: by what it holds;
//   - a slice: by its elements; a map: by its keys and values, sorted by key;
//   - a struct: by the names and values of its fields, in their order;
//   - a [Scored], or a slice of them: by score and member, as ZADD takes them.
//
// A struct's fields are its exported fields and those of embedded structs. The tag
// `redis:"name,option,…"` names a field; without a name it has its Go name, and "-"
// leaves it out. Options are
//
//   - omitempty: the field is left out if it is zero or of no length, and set to
//     zero if a reply lacks it;
//   - inline: the fields of this struct are treated as fields of the outer one;
//   - s, ms, us, ns: a time.Duration as a whole number of this unit, truncated; a
//     duration other than 0 that would become 0 is an error;
//   - unix, unixmilli, unixmicro, unixnano: a time.Time as a number since 1970,
//     truncated, and read in UTC.
//
// A nil pointer as a field, or in an interface, is left out. If a value can't be sent,
// its request is refused with an [ErrArgumentType] that names the type, the field and
// its tag, and nothing is sent.
//
// Args retains byte slices: don't change them before the request is sent. Without Args,
// [Sync.Do] and the like accept only the types that Request.Args lists.
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
			out = append(out, newBadArg(err))
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
	case isMarshaler(t), isMarshaler(reflect.PointerTo(t)), t.Implements(flattenerType):
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

// flattener is a type of this package that is several arguments, or none that
// can be sent.
type flattener interface {
	flatten(out []any) ([]any, error)
}

var flattenerType = reflect.TypeFor[flattener]()

func appendElement(out []any, v reflect.Value) ([]any, error) {
	if v.Kind() == reflect.Interface && !v.IsNil() {
		v = v.Elem()
	}
	if v.Type().Implements(flattenerType) {
		return v.Interface().(flattener).flatten(out)
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
