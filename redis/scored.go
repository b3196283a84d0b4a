package redis

import (
	"reflect"

	"github.com/joomcode/redispipe/internal/values"
)

// Scored is a member of a sorted set with its score. [As] and DoInto read a Scored, and slices of
// Scored, from the replies to commands such as ZRANGE with WITHSCORES and ZPOPMIN, in their RESP2
// form (flat) and in their RESP3 form (pairs). As an argument (see [Args]) it is a score and a
// member.
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
// map[string][]Entry[T]. For the fields of a stream, T is a struct or a map. If entries may have
// been deleted, use a pointer to a struct or map. XREADGROUP with CLAIM also returns the number of
// deliveries, which an Entry drops: see redisreply.Delivery.
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
