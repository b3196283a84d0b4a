package redis

import (
	"reflect"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/resp"
	"github.com/joomcode/redispipe/internal/values"
)

// FieldNames returns the names of a struct's fields, in order, as the arguments of an HMGET into
// such a struct. If T is not a struct, or no reply can be read into it, a request with these
// arguments fails with an [ErrArgumentType] that gives the reason, and nothing is sent.
func FieldNames[T any]() []any { return values.FieldNames(reflect.TypeFor[T]()) }

// Zip joins names with the values of a result without names, such as that of HMGET or HGETDEL, so
// that [As] can convert it to a struct or a map. Zip returns a result that is an error unchanged.
// If the result is not an array of the same length, Zip returns an [ErrResponseUnexpected]. You
// need not call Zip for an HMGET with DoInto.
func Zip(names []any, res any) any {
	if errs.Of(res) != nil {
		return res
	}
	list, ok := res.([]any)
	if !ok || len(list) != len(names) {
		return errs.ErrResponseUnexpected.New("a reply of type %T is not an array of %d values", res, len(names)).
			WithProperty(errs.EKResponse, res)
	}
	pairs := make([]any, 0, 2*len(names))
	for i, name := range names {
		text, ok := resp.ArgText(name)
		if !ok {
			return errArgument("HMGET", names, i)
		}
		pairs = append(pairs, text, list[i])
	}
	return pairs
}
