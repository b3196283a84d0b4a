package redis

import (
	"reflect"
	"slices"
	"strings"
)

// ArgMarshaler is a type that makes an argument of itself: a value of a type
// that Request.Args lists. It must not be nil. Its error should show no value:
// see [ResultUnmarshaler].
type ArgMarshaler interface {
	MarshalRedis() (any, error)
}

// Args makes the arguments of a request, in place of each value:
//
//   - what Request.Args lists: itself;
//   - an [ArgMarshaler], [encoding.TextMarshaler] or [encoding.BinaryMarshaler],
//     in this order: what it makes of itself;
//   - a type of a kind that Request.Args lists: its value; a [time.Time]: RFC 3339;
//     a [time.Duration]: as Go writes it ("1m30s"), see [Seconds] for a number;
//   - a pointer or an interface: what it holds;
//   - a slice: its elements; a map: its keys and values, sorted by key;
//   - a struct: the names and values of its fields, in their order;
//   - a [Scored], or a slice of them: score and member, as ZADD takes them.
//
// Fields are exported ones, and those of embedded structs. The tag
// `redis:"name,option,…"` names a field, which has its Go name otherwise; "-"
// leaves it out. Options are
//
//   - omitempty: left out when it is zero or of no length, and zero when missing;
//   - inline: a struct's own fields take its place;
//   - s, ms, us, ns: a time.Duration as a whole number of that unit, cut; it is
//     an error if that makes 0 of less than one;
//   - unix, unixmilli, unixmicro, unixnano: a time.Time as a number since 1970,
//     cut; read in UTC.
//
// A nil pointer as a field, or in an interface, is left out. What can't be sent
// has its request refused with an ErrArgumentType that names the type, the field
// and its tag, and nothing is sent.
//
// Args keeps the values, so change no []byte before the request is sent. The
// arguments of [Sync.Do] and all else take only what Request.Args lists.
func Args(values ...any) []any {
	size := 0
	for _, v := range values {
		size += argCount(v)
	}
	out := make([]any, 0, size)
	for _, v := range values {
		if encodable(v) {
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
	if encodable(v) {
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
	for rv.Kind() == reflect.Pointer && !isMarshaler(rv.Type()) {
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
			return out, within(err, "element %d", i)
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
			return out, within(err, "a key")
		}
		value, err := oneArg(entry.Value())
		if err != nil {
			return out, within(err, "a value")
		}
		key, _ := ArgToString(name)
		pairs = append(pairs, pair{key, name, value})
	}
	slices.SortFunc(pairs, func(a, b pair) int { return strings.Compare(a.key, b.key) })
	for _, p := range pairs {
		out = append(out, p.name, p.value)
	}
	return out, nil
}
