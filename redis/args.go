package redis

import (
	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/values"
)

// Args converts values to the arguments of a request. It replaces each value as follows:
//
//   - a value of a type that [Request].Args lists stays as it is;
//   - an [ArgMarshaler], [encoding.TextMarshaler] or [encoding.BinaryMarshaler], tried in
//     this order, becomes the value that its method returns;
//   - a value of a defined type (type ID string) becomes the value of its underlying
//     type, if Request.Args lists that;
//   - a [time.Time] becomes text in RFC 3339, a [time.Duration] text as Go writes it
//     ("1m30s"): see [Seconds] for a number;
//   - a pointer or an interface becomes the value that it points to or holds;
//   - a slice becomes its elements, a map its keys and values, sorted by key;
//   - a struct becomes the names and values of its fields, in order; a struct without exported
//     fields, such as an error, can't be sent;
//   - a [Scored], or a slice of them, becomes score and member, in the order of ZADD.
//
// A struct's fields are its exported fields and those of embedded structs. The tag
// `redis:"name,option,…"` names a field; the default is its Go name, and "-" leaves it out. The
// options are
//
//   - omitempty: Args leaves out the field if it is zero or empty; As sets it to zero if a reply
//     lacks it;
//   - inline: the fields of this struct are treated as fields of the outer one;
//   - s, ms, us, ns: a time.Duration as a whole number of this unit; one that is not is an
//     error;
//   - unix, unixmilli, unixmicro, unixnano: a time.Time as a number since 1970,
//     truncated, and read in UTC.
//
// Args leaves out a nil pointer in a field or an interface. If a value can't be sent, the request
// fails with an [ErrArgumentType] that names the type, the field and its tag, and nothing is sent.
//
// Args retains byte slices: don't change them before the request is sent. Without Args, methods
// such as [Sync.Do] accept only the types that Request.Args lists.
func Args(v ...any) []any { return values.Args(v...) }

// ArgMarshaler is a type that converts itself to an argument: a value of a type that
// [Request].Args lists. MarshalRedis must not return nil. Its error should not contain
// values: see [ResultUnmarshaler].
type ArgMarshaler interface {
	MarshalRedis() (any, error)
}

// Scalar lists the types that a single reply can be read as. A number or a boolean is also read
// from text, because a server answers "3" to GET and 3 to INCR.
type Scalar interface {
	[]byte | string | int64 | float64 | bool
}

// As converts a result to a T. If the result is an error, As returns [Err] of it. For
// null, As returns an [ErrResponseNil], unless T is a slice, a map, a pointer or any:
// these become nil. If the result is not a T or does not fit into it, As returns an
// [ErrResponseUnexpected]. T is
//
//   - string, []byte, bool, a float or an integer type, or a type defined as one of
//     them;
//   - a [ResultUnmarshaler], [encoding.TextUnmarshaler] or
//     [encoding.BinaryUnmarshaler], tried in this order;
//   - a [time.Time], read as RFC 3339; a [time.Duration], read as Go writes it
//     ("1m30s"), not as a bare number: see [Seconds] and [Milliseconds];
//   - a pointer to, a slice of or a map of such types, or any; as the key of a map, any
//     holds a string, since a []byte can't be a key;
//   - a struct with such fields: see [Args] for their tags.
//
// Maps and structs are read from RESP3 maps, from arrays of alternating names and values,
// and from arrays of pairs. If the reply lacks a field, the error is an ErrResponseNil
// that names the field, unless it has the option omitempty, or is a pointer, a slice, a
// map or any. As ignores names that the struct lacks. For a struct, an empty reply
// counts as null, because that is HGETALL's answer for a missing key.
func As[T any](res any) (T, error) {
	var v T
	if err := values.Assign(&v, res); err != nil {
		var zero T
		return zero, errs.Err(err)
	}
	return v, nil
}

// ResultUnmarshaler is a type that reads itself from a result. UnmarshalRedis gets any of
// the types that the package documentation lists under Results, except an error. It must
// not retain res. Its error should not contain values: As and DoInto return an
// *errorx.Error unchanged, and any other error as the property [EKCause] of an
// [ErrResponseUnexpected].
type ResultUnmarshaler interface {
	UnmarshalRedis(res any) error
}
