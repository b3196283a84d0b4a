package cmd

import (
	"math"
	"strconv"
	"time"
	"unsafe"

	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/redis"
)

// Value lists the types of values, elements and members: the types of [redis.Request].Args except
// [time.Duration]. For your own types see [redis.Args], and [Fields] for structs.
type Value interface {
	string | []byte | bool | float32 | float64 |
		int | int8 | int16 | int32 | int64 | uint | uint8 | uint16 | uint32 | uint64
}

// Duration is a [time.Duration]. It is a constraint, so that a bare number does not compile. It is sent
// in the unit of the command, and must be a whole number of it; otherwise the error is an
// [redis.ErrArgumentType], and nothing is sent.
type Duration interface {
	time.Duration | redis.Seconds | redis.Milliseconds
}

// Bound lists the types of the bounds of a range by rank, score or name. An int is a rank or a score;
// -inf, (5 and [a are strings.
type Bound interface {
	string | int | int64 | float64
}

// ScoreBound is a bound of a range of scores: see [Score] and [Beyond].
type ScoreBound struct{ word word }

// Score is an inclusive bound. It may be infinite.
func Score(score float64) ScoreBound { return ScoreBound{floatOf(score)} }

// Beyond is an exclusive bound.
func Beyond(score float64) ScoreBound { return ScoreBound{textOf("(" + formatFloat(score))} }

// boundOf is not inlined, like request.add.
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

// word is an argument. It is not an interface, so that a function can return it without allocating it,
// and it is small, because commands are copied. Words can be compared as plain memory, so the compiler
// generates no comparison functions for the types of options.
type word struct {
	text   *byte  // one of marks, if it is a number
	number uint64 // or the length of the text
}

// marks are addresses that tell the types of numbers apart.
var marks [3]byte

const (
	anInt = iota
	aFloat
	aDuration // not a whole number of its unit: the encoder refuses it
)

// arg returns the word in the form of package redis. It is inlined, so that the interface is on its
// caller's stack.
func (w *word) arg() any {
	switch w.text {
	case &marks[anInt]:
		return int64(w.number)
	case &marks[aFloat]:
		return math.Float64frombits(w.number)
	case &marks[aDuration]:
		return time.Duration(w.number)
	}
	return unsafe.String(w.text, w.number)
}

func textOf(s string) word   { return word{unsafe.StringData(s), uint64(len(s))} }
func intOf(n int64) word     { return word{&marks[anInt], uint64(n)} }
func floatOf(f float64) word { return word{&marks[aFloat], math.Float64bits(f)} }
func lenOf(n int) word       { return intOf(int64(n)) }

func uintOf(n uint64) word {
	if n > math.MaxInt64 {
		return textOf(strconv.FormatUint(n, 10))
	}
	return intOf(int64(n))
}

func boolOf(b bool) word {
	if b {
		return intOf(1)
	}
	return intOf(0)
}

// bytesOf refers to the slice, which is copied when the request is encoded.
func bytesOf(b []byte) word { return word{unsafe.SliceData(b), uint64(len(b))} }

func secondsOf[D Duration](d D) word      { return unitsOf(time.Duration(d), time.Second) }
func millisecondsOf[D Duration](d D) word { return unitsOf(time.Duration(d), time.Millisecond) }

func unitsOf(d, unit time.Duration) word {
	if d%unit != 0 {
		return word{&marks[aDuration], uint64(d)}
	}
	return intOf(int64(d / unit))
}

// decimalSecondsOf returns a time-out in seconds, with a fraction.
func decimalSecondsOf[D Duration](d D) word {
	return floatOf(command.TimeoutSeconds(time.Duration(d)))
}

// textArg returns the text that is sent for an argument.
func textArg(arg any) string {
	text, _ := redis.ArgToString(arg)
	return text
}

func formatFloat(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }
