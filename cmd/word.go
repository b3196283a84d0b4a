package cmd

import (
	"math"
	"strconv"
	"time"
	"unsafe"
)

// word is an argument. It is no interface, so that a function can return it without allocating
// it, and small, since commands are copied.
type word struct {
	text   *byte
	number uint64 // the length of the text
	kind   kind
}

// kind is what a word stands for. It is as large as it is so that words are compared as memory
// is: then the types of options have no functions of their own for that.
type kind uint64

const (
	ofText kind = iota
	ofInt
	ofFloat
	ofDuration // that is not a whole number of its unit: the encoder refuses it
)

// arg returns the word as package redis takes it. It is inlined, so that the interface is on
// its caller's stack.
func (w *word) arg() any {
	switch w.kind {
	case ofText:
		return unsafe.String(w.text, w.number)
	case ofInt:
		return int64(w.number)
	case ofFloat:
		return math.Float64frombits(w.number)
	}
	return time.Duration(w.number)
}

func textOf(s string) word   { return word{text: unsafe.StringData(s), number: uint64(len(s))} }
func intOf(n int64) word     { return word{kind: ofInt, number: uint64(n)} }
func floatOf(f float64) word { return word{kind: ofFloat, number: math.Float64bits(f)} }
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
func bytesOf(b []byte) word { return word{text: unsafe.SliceData(b), number: uint64(len(b))} }

func secondsOf[D Duration](d D) word      { return unitsOf(time.Duration(d), time.Second) }
func millisecondsOf[D Duration](d D) word { return unitsOf(time.Duration(d), time.Millisecond) }

func unitsOf(d, unit time.Duration) word {
	if d%unit != 0 {
		return word{kind: ofDuration, number: uint64(d)}
	}
	return intOf(int64(d / unit))
}

// decimalSecondsOf is a number with a fraction, of no more digits than Go prints of it.
func decimalSecondsOf[D Duration](d D) word { return floatOf(time.Duration(d).Seconds()) }
