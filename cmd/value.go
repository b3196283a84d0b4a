package cmd

import (
	"time"

	"github.com/joomcode/redispipe/redis"
)

// Value are the types of values, elements and members: what [redis.Request] lists, without
// [time.Duration]. For types of your own see [redis.Args], and [Fields] for structs.
type Value interface {
	string | []byte | bool | float32 | float64 |
		int | int8 | int16 | int32 | int64 | uint | uint8 | uint16 | uint32 | uint64
}

// Duration is a [time.Duration]. It is a constraint, so that a bare number does not compile.
// It is sent in the unit that the command takes, and has to be a whole number of it; otherwise
// nothing is sent, and the error is an [redis.ErrArgumentType].
type Duration interface {
	time.Duration | redis.Seconds | redis.Milliseconds
}

// Bound are the types of the limits of a range that goes by rank, score or name: with an int it
// is a rank, or a score; -inf, (5 and [a are strings.
type Bound interface {
	string | int | int64 | float64
}

// ScoreBound is a limit of a range of scores: see [Score] and [Beyond].
type ScoreBound struct{ word word }

// Score is a limit that belongs to the range. It may be an infinity.
func Score(score float64) ScoreBound { return ScoreBound{floatOf(score)} }

// Beyond is a limit that does not belong to the range.
func Beyond(score float64) ScoreBound { return ScoreBound{textOf("(" + formatFloat(score))} }

// boundOf is not inlined, as request.add is not.
//
//go:noinline
func boundOf[B Bound](bound B) word {
	switch b := any(bound).(type) {
	case string:
		return textOf(b)
	case int:
		return intOf(int64(b))
	case int64:
		return intOf(b)
	case float64:
		return floatOf(b)
	}
	return word{} // there is no other type
}

func valueOf[V Value](value V) word {
	switch v := any(value).(type) {
	case string:
		return textOf(v)
	case []byte:
		return bytesOf(v)
	}
	return numberOf(value)
}

func numberOf(value any) word {
	switch v := value.(type) {
	case int:
		return intOf(int64(v))
	case int64:
		return intOf(v)
	case int32:
		return intOf(int64(v))
	case int16:
		return intOf(int64(v))
	case int8:
		return intOf(int64(v))
	case uint:
		return uintOf(uint64(v))
	case uint64:
		return uintOf(v)
	case uint32:
		return uintOf(uint64(v))
	case uint16:
		return uintOf(uint64(v))
	case uint8:
		return uintOf(uint64(v))
	case float64:
		return floatOf(v)
	case float32:
		return textOf(textArg(v))
	case bool:
		return boolOf(v)
	}
	return word{} // there is no other type
}
