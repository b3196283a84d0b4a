package redis

import (
	"reflect"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/resp"
)

// Scalar are the types that a single reply can be read as. Text is parsed if a number
// or a boolean is asked for: a server answers "3" to GET and 3 to INCR.
type Scalar interface {
	[]byte | string | int64 | float64 | bool
}

// As converts a result to a T. If the result is an error, As returns [Err] of it. The
// error is an [ErrResponseNil] for null, unless T is a slice, a map, a pointer or any,
// which are nil then, and an [ErrResponseUnexpected] if the result is not a T or does
// not fit into it. T is
//
//   - string, []byte, bool, a float or an integer type, or a type defined as one of
//     them;
//   - a [ResultUnmarshaler], [encoding.TextUnmarshaler] or
//     [encoding.BinaryUnmarshaler], tried in this order;
//   - a [time.Time], read as RFC 3339; a [time.Duration], read as Go writes it
//     ("1m30s"), not as a bare number: see [Seconds] and [Milliseconds];
//   - a pointer to, a slice of or a map of such types, or any, which is a string as the
//     key of a map, where a []byte can't be;
//   - a struct with such fields: see [Args] for their tags.
//
// Maps and structs are read from RESP3 maps, from arrays of names and values in turn,
// and from arrays of pairs. If the reply lacks a field, the error is an ErrResponseNil
// that names the field, unless it has the option omitempty, or is a pointer, a slice, a
// map or any. Names that the struct lacks are ignored. For a struct, an empty reply
// counts as null, since HGETALL answers so for a missing key.
func As[T any](res any) (T, error) {
	var v T
	err := assign(&v, res)
	if err != nil {
		var zero T
		return zero, errs.Err(err)
	}
	return v, nil
}

// assign sets what dst points to. After an error that may be set in part, if it is read by a
// plan that says so.
func assign(dst, res any) error {
	if err := errs.Of(res); err != nil {
		return err
	}
	if resp.KindOf(dst) != resp.NoKind {
		if err := assignScalar(dst, res); err != nil {
			return answered(err, res)
		}
		return nil
	}
	v := reflect.ValueOf(dst).Elem()
	p, err := planOf(v.Type())
	if err != nil {
		return errs.ErrResponseUnexpected.New("%v", err).WithProperty(errs.EKResponse, res)
	}
	return answered(p.read(v, res), res)
}

// answered adds the result to an error of reading it, of whatever depth that is: it says that
// the request was answered.
func answered(err error, res any) error {
	if err == nil || res == nil {
		return err
	}
	typed := errs.AsErrorx(err)
	if _, named := typed.Property(errs.EKResponse); named || !typed.IsOfType(errs.ErrResponseUnexpected) {
		return err
	}
	return typed.WithProperty(errs.EKResponse, res)
}

// assignScalar sets what dst points to, which is of a kind.
func assignScalar(dst, res any) error {
	switch dst := dst.(type) {
	case *[]byte:
		if res == nil {
			*dst = nil
			return nil
		}
	case *string:
		switch res := res.(type) {
		case []byte:
			*dst = string(res)
			return nil
		case string:
			*dst = res
			return nil
		}
	}
	var room [32]byte
	text, single := res.([]byte)
	if !single {
		text, single = resp.AppendResult(room[:0], res)
	}
	if !single || !resp.Parse(dst, text) {
		return unfit(reflect.TypeOf(dst).Elem(), text, res)
	}
	return nil
}
