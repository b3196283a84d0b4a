package resp

import (
	"bytes"
	"errors"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// parseBig parses an integer of any size. Its cost grows with the square of the length, so it is
// only called for lines, whose length is bounded.
func parseBig(text []byte) (*big.Int, bool) {
	if !IsWhole(text) {
		return nil, false
	}
	return new(big.Int).SetString(string(text), 10)
}

// IsWhole reports whether text is a whole number of any size.
func IsWhole(text []byte) bool {
	if len(text) > 1 && (text[0] == '-' || text[0] == '+') {
		text = text[1:]
	}
	return onlyOf(text, "0123456789")
}

// parseDouble parses a RESP3 double. Servers may calculate with more than 64 bits. If the number
// does not fit into a float64, fits is false.
func parseDouble[T string | []byte](text T) (v float64, fits, ok bool) {
	switch string(text) {
	case "inf":
		return math.Inf(1), true, true
	case "-inf":
		return math.Inf(-1), true, true
	case "nan", "-nan":
		return math.NaN(), true, true
	}
	if !onlyOf(text, "0123456789+-.eE") {
		return 0, false, false
	}
	v, err := strconv.ParseFloat(string(text), 64)
	return v, err == nil, err == nil || errors.Is(err, strconv.ErrRange)
}

// IsBeyondFloat reports whether text is a number out of the range of a float64.
func IsBeyondFloat(text []byte) bool {
	_, fits, ok := parseDouble(text)
	return ok && !fits
}

// ParseFloat parses what parseDouble parses, and the texts that strconv writes for infinities and
// NaN, which arguments contain.
func ParseFloat[T string | []byte](text T) (float64, bool) {
	switch string(text) {
	case "+Inf", "Inf":
		return math.Inf(1), true
	case "-Inf":
		return math.Inf(-1), true
	case "NaN":
		return math.NaN(), true
	}
	v, fits, _ := parseDouble(text)
	return v, fits
}

// ParseUint parses a decimal uint64, or an integer in scientific form.
func ParseUint(text []byte) (uint64, bool) {
	v, err := strconv.ParseUint(string(text), 10, 64)
	if err == nil {
		return v, true
	}
	whole, ok := parseScientific(text)
	return whole.Uint64(), ok && whole.IsUint64()
}

// ParseWhole parses a decimal int64, or an integer in scientific form.
func ParseWhole[T string | []byte](text T) (int64, bool) {
	if v, ok := ParseInt(text); ok {
		return v, true
	}
	whole, ok := parseScientific(text)
	return whole.Int64(), ok && whole.IsInt64()
}

// scientificMost is the greatest length of a 64-bit integer in scientific form: a sign, 20 digits
// with a point, and an exponent.
const scientificMost = len("-1.2345678901234567890e+19")

// parseScientific parses an integer in scientific form, as servers up to Redis 7.0 write large
// scores in RESP2. These servers write a float64 with at most 17 digits, so such a text means the
// exact integer value of the nearest float64.
func parseScientific[T string | []byte](text T) (whole *big.Int, ok bool) {
	whole = new(big.Int)
	if len(text) > scientificMost || !onlyOf(text, "0123456789+-.eE") {
		return whole, false
	}
	digits, exponent, scientific := strings.Cut(strings.ToLower(string(text)), "e")
	power, err := strconv.Atoi(exponent)
	if !scientific || err != nil || power < 0 || power > 20 || !pointInside([]byte(digits)) {
		return whole, false
	}
	before, after, _ := strings.Cut(digits, ".")
	after = strings.TrimRight(after, "0")
	if len(after) > power || !IsWhole([]byte(before+after)) {
		return whole, false
	}
	if len(strings.TrimLeft(before, "+-0"))+len(after) <= 17 {
		v, err := strconv.ParseFloat(string(text), 64)
		if err == nil {
			big.NewFloat(v).Int(whole)
		}
		return whole, err == nil
	}
	return whole.SetString(before+after+strings.Repeat("0", power-len(after)), 10)
}

// pointInside reports whether the text has no decimal point, or one between digits, as RESP3
// requires.
func pointInside(text []byte) bool {
	digit := func(i int) bool { return 0 <= i && i < len(text) && text[i]-'0' <= 9 }
	point := bytes.IndexByte(text, '.')
	return point < 0 || digit(point-1) && digit(point+1)
}

// onlyOf reports whether text is not empty and consists of the given characters.
func onlyOf[T string | []byte](text T, chars string) bool {
	for i := range len(text) {
		if strings.IndexByte(chars, text[i]) < 0 {
			return false
		}
	}
	return len(text) > 0
}

// ParseInt parses a decimal int64 with an optional sign.
func ParseInt[T string | []byte](text T) (int64, bool) {
	negative := false
	if len(text) > 0 && (text[0] == '-' || text[0] == '+') {
		negative = text[0] == '-'
		text = text[1:]
	}
	if len(text) == 0 {
		return 0, false
	}
	bound := uint64(math.MaxInt64)
	if negative {
		bound++
	}
	var v uint64
	long := len(text) > 18 // up to 18 digits can't overflow
	for i := range len(text) {
		digit := uint64(text[i] - '0')
		if digit > 9 || long && v > (bound-digit)/10 {
			return 0, false
		}
		v = v*10 + digit
	}
	if negative {
		return -int64(v), true
	}
	return int64(v), true
}

// ParseBool parses the truth values of Redis: 1 and 0, the booleans of RESP3, and OK.
func ParseBool[T string | []byte](text T) (value, ok bool) {
	switch string(text) {
	case "1", "t", "true", "OK":
		return true, true
	case "0", "f", "false":
		return false, true
	}
	return false, false
}

// appendDouble appends a number in a form that parseDouble parses.
func appendDouble(buf []byte, v float64) []byte {
	switch {
	case math.IsInf(v, 1):
		return append(buf, "inf"...)
	case math.IsInf(v, -1):
		return append(buf, "-inf"...)
	case math.IsNaN(v):
		return append(buf, "nan"...)
	}
	return strconv.AppendFloat(buf, v, 'f', -1, 64)
}
