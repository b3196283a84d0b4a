package redis

import (
	"reflect"

	"github.com/joomcode/redispipe/internal/values"
)

// Scored is a member of a sorted set with its score. [As] and DoInto read it, and
// slices of it, from the replies to commands such as ZRANGE with WITHSCORES and ZPOPMIN,
// whether these are flat (RESP2) or made of pairs (RESP3). As an argument (see [Args])
// it is a score and a member.
type Scored[T any] struct {
	Member T
	Score  float64
}

// UnmarshalRedis implements ResultUnmarshaler.
func (s *Scored[T]) UnmarshalRedis(res any) error {
	return values.ReadTuple(reflect.TypeOf(s).Elem(), res, []string{"a member", "a score"}, &s.Member, &s.Score)
}

// scored is the interface by which package values recognizes a Scored.
type scored interface {
	parts() (score float64, member reflect.Value)
}

func init() { values.Scored(scored.parts) }

func (s Scored[T]) parts() (float64, reflect.Value) {
	return s.Score, reflect.ValueOf(&s.Member).Elem()
}

// Entry is an ID with its value, as in the replies to XRANGE and XCLAIM. The reply to XREAD is a
// map[string][]Entry[T]. For the fields of a stream, T is a struct or a map; use a pointer to one if
// entries may have been deleted. XREADGROUP with CLAIM also returns the number of deliveries, which an
// Entry drops: see redisreply.Delivery.
type Entry[T any] struct {
	ID    string
	Value T
}

// UnmarshalRedis implements ResultUnmarshaler.
func (e *Entry[T]) UnmarshalRedis(res any) error {
	if list, ok := res.([]any); ok && len(list) == 4 {
		res = list[:2]
	}
	return values.ReadTuple(reflect.TypeOf(e).Elem(), res, []string{"an ID", "an entry"}, &e.ID, &e.Value)
}
