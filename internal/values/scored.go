package values

import (
	"reflect"

	"github.com/joomcode/redispipe/internal/errs"
)

// scoredType is the interface of members with their scores, and scoredParts takes one apart.
// They are set when the program starts: redis.Scored has no exported methods for them.
var (
	scoredType  = reflect.TypeFor[interface{ parts() }]()
	scoredParts func(v any) (score float64, member reflect.Value)
)

// Scored says how redis.Scored, which alone implements T, is taken apart.
func Scored[T any](parts func(T) (score float64, member reflect.Value)) {
	scoredType = reflect.TypeFor[T]()
	scoredParts = func(v any) (float64, reflect.Value) { return parts(v.(T)) }
}

func isScored(t reflect.Type) bool { return t.Implements(scoredType) }

func appendScored(out []any, v reflect.Value) ([]any, error) {
	score, member := scoredParts(v.Interface())
	arg, err := oneArg(member)
	if err != nil {
		return out, errs.Within(err, "a member")
	}
	return append(out, score, arg), nil
}

// ReadPair reads a result of two, for a variable of type t, into what first and second point
// to. Errors name them.
func ReadPair(t reflect.Type, res any, firstName string, first any, secondName string, second any) error {
	pair, ok := res.([]any)
	switch {
	case res == nil:
		return errNull(t)
	case !ok || len(pair) != 2:
		return mismatch(t, res)
	}
	if err := Assign(first, pair[0]); err != nil {
		return errs.Within(err, "%s", firstName)
	}
	if err := Assign(second, pair[1]); err != nil {
		return errs.Within(err, "%s", secondName)
	}
	return nil
}
