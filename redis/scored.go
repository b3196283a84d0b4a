package redis

import (
	"reflect"

	"github.com/joomcode/redispipe/internal/errs"
)

// Scored is a member of a sorted set with its score. [As] and DoInto read it, and
// slices of it, from the replies to ZRANGE with WITHSCORES, ZPOPMIN and the like,
// whether these are flat (RESP2) or made of pairs (RESP3). As an argument (see [Args])
// it is a score and a member.
type Scored[T any] struct {
	Member T
	Score  float64
}

// UnmarshalRedis implements ResultUnmarshaler.
func (s *Scored[T]) UnmarshalRedis(res any) error {
	pair, err := asPair(reflect.TypeOf(s).Elem(), res)
	if err != nil {
		return err
	}
	if err := assign(&s.Member, pair[0]); err != nil {
		return errs.Within(err, "a member")
	}
	if err := assign(&s.Score, pair[1]); err != nil {
		return errs.Within(err, "a score")
	}
	return nil
}

func (s *Scored[T]) pair() {}

func (s Scored[T]) flatten(out []any) ([]any, error) {
	member, err := oneArg(reflect.ValueOf(&s.Member).Elem())
	if err != nil {
		return out, errs.Within(err, "a member")
	}
	return append(out, s.Score, member), nil
}

// Entry is an ID with its value, as in the replies to XRANGE, XCLAIM and the like.
// XREAD answers with a map[string][]Entry[T]. For the fields of a stream, T is a struct
// or a map; it is a pointer to one if entries may have been deleted.
type Entry[T any] struct {
	ID    string
	Value T
}

// UnmarshalRedis implements ResultUnmarshaler.
func (e *Entry[T]) UnmarshalRedis(res any) error {
	pair, err := asPair(reflect.TypeOf(e).Elem(), res)
	if err != nil {
		return err
	}
	if err := assign(&e.ID, pair[0]); err != nil {
		return errs.Within(err, "an ID")
	}
	if err := assign(&e.Value, pair[1]); err != nil {
		return errs.Within(err, "an entry")
	}
	return nil
}

func asPair(want reflect.Type, res any) ([]any, error) {
	pair, ok := res.([]any)
	switch {
	case res == nil:
		return nil, errNull(want)
	case !ok || len(pair) != 2:
		return nil, mismatch(want, res)
	}
	return pair, nil
}
