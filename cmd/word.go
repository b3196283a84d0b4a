package cmd

import (
	"math"
	"strconv"
	"time"
	"unsafe"
)

// word is an argument. It is no interface, so that a function can return it without allocating
// it, and small, since commands are copied. Words are compared as memory is: then the types of
// options have no functions of their own for that.
type word struct {
	text   *byte  // or a mark
	number uint64 // the length of the text, if it has no mark
}

// marks are what the text of a word that is none points to.
var marks [3]byte

const (
	anInt = iota
	aFloat
	aDuration // that is not a whole number of its unit: the encoder refuses it
)

// arg returns the word as package redis takes it. It is inlined, so that the interface is on
// its caller's stack.
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

// bytesOf refers to the slice: it is copied when the request is encoded.
func bytesOf(b []byte) word { return word{unsafe.SliceData(b), uint64(len(b))} }

func secondsOf[D Duration](d D) word      { return unitsOf(time.Duration(d), time.Second) }
func millisecondsOf[D Duration](d D) word { return unitsOf(time.Duration(d), time.Millisecond) }

func unitsOf(d, unit time.Duration) word {
	if d%unit != 0 {
		return word{&marks[aDuration], uint64(d)}
	}
	return intOf(int64(d / unit))
}

// decimalSecondsOf is a number with a fraction, of no more digits than Go prints of it.
func decimalSecondsOf[D Duration](d D) word { return floatOf(time.Duration(d).Seconds()) }
