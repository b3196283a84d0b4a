package redis

import (
	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/values"
)

// Scalar lists the types that a single reply can be read as. Text is parsed if a number
// or a boolean is asked for: a server answers "3" to GET and 3 to INCR.
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
// Maps and structs are read from RESP3 maps, from arrays of names and values in turn,
// and from arrays of pairs. If the reply lacks a field, the error is an ErrResponseNil
// that names the field, unless it has the option omitempty, or is a pointer, a slice, a
// map or any. Names that the struct lacks are ignored. For a struct, an empty reply
// counts as null, since HGETALL answers so for a missing key.
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
