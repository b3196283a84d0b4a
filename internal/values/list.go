package values

import (
	"reflect"

	"github.com/joomcode/redispipe/internal/errs"
)

// readList reads the elements of a result into a variable of type t: begin makes room for
// so many, read sets one. Null calls neither. A list of pairs may be flat.
func readList(t reflect.Type, res any, pairs bool, begin func(n int), read func(i int, el any) error) error {
	if res == nil {
		return nil
	}
	list, ok := res.([]any)
	step := 1
	if pairs && isFlat(list) {
		step = 2
	}
	if !ok || len(list)%step != 0 {
		return mismatch(t, res)
	}
	begin(len(list) / step)
	for i := 0; i < len(list); i += step {
		el := list[i]
		if step == 2 {
			el = list[i : i+2]
		}
		if err := read(i/step, el); err != nil {
			return errs.Within(err, "element %d", i/step)
		}
	}
	return nil
}

// readMap reads names with values into a variable of type t: begin makes room for so many,
// read sets one. Null calls neither.
func readMap(t reflect.Type, res any, begin func(n int), read func(k, v any) error) error {
	if res == nil {
		return nil
	}
	n, ok := countPairs(res)
	if !ok {
		return mismatch(t, res)
	}
	begin(n)
	return eachPair(res, read)
}

// inKey and inValue say of an error which part of a map it is about.
func inKey(err error) error   { return errs.Within(err, "a key") }
func inValue(err error) error { return errs.Within(err, "a value") }

// Slices and maps of Scalar types have plans that take less reflection.
func init() {
	planLists[[]byte]()
	planLists[string]()
	planLists[int64]()
	planLists[float64]()
	planLists[bool]()
}

func planLists[T any]() {
	list, names := reflect.TypeFor[[]T](), reflect.TypeFor[map[string]T]()
	plans.put(list, &plan{read: func(dst reflect.Value, res any) error {
		var out []T
		err := readList(list, res, false, func(n int) { out = make([]T, n) }, func(i int, el any) error {
			return assignScalar(&out[i], el)
		})
		if err == nil {
			*dst.Addr().Interface().(*[]T) = out
		}
		return err
	}})
	plans.put(names, &plan{named: true, read: func(dst reflect.Value, res any) error {
		var out map[string]T
		var name string
		var el T
		err := readMap(names, res, func(n int) { out = make(map[string]T, n) }, func(k, v any) error {
			if err := assignScalar(&name, k); err != nil {
				return inKey(err)
			}
			if err := assignScalar(&el, v); err != nil {
				return inValue(err)
			}
			out[name] = el
			return nil
		})
		if err == nil {
			*dst.Addr().Interface().(*map[string]T) = out
		}
		return err
	}})
}

// isEmpty reports whether a result is an empty list or map, which is what a
// server says of a key that is not there.
func isEmpty(res any) bool {
	n, ok := countPairs(res)
	return ok && n == 0
}

// countPairs returns how many names with values a result has: a map, a list of
// both in turn, or of pairs.
func countPairs(res any) (n int, ok bool) {
	switch v := res.(type) {
	case map[string]any:
		return len(v), true
	case []any:
		if isFlat(v) {
			return len(v) / 2, len(v)%2 == 0
		}
		for _, el := range v {
			if pair, ok := el.([]any); !ok || len(pair) != 2 {
				return 0, false
			}
		}
		return len(v), true
	}
	return 0, false
}

// isFlat reports whether a list is not one of lists.
func isFlat(list []any) bool {
	if len(list) == 0 {
		return true
	}
	_, nested := list[0].([]any)
	return !nested
}

// eachPair calls f with each name and value of what countPairs has counted,
// until it fails.
func eachPair(res any, f func(name, value any) error) error {
	switch v := res.(type) {
	case map[string]any:
		for name, value := range v {
			if err := f(name, value); err != nil {
				return err
			}
		}
	case []any:
		step := 1
		if isFlat(v) {
			step = 2
		}
		for i := 0; i < len(v); i += step {
			pair := v[i:]
			if step == 1 {
				pair = v[i].([]any)
			}
			if err := f(pair[0], pair[1]); err != nil {
				return err
			}
		}
	}
	return nil
}
