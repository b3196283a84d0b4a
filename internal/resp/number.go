package resp

import (
	"bytes"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// parseBig parses a whole number of any size, which costs the square of its length: it is
// for header lines, which are bounded.
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

// parseDouble parses a number as RESP3 has it.
func parseDouble[T string | []byte](text T) (float64, bool) {
	switch string(text) {
	case "inf":
		return math.Inf(1), true
	case "-inf":
		return math.Inf(-1), true
	case "nan", "-nan":
		return math.NaN(), true
	}
	if !onlyOf(text, "0123456789+-.eE") {
		return 0, false
	}
	v, err := strconv.ParseFloat(string(text), 64)
	return v, err == nil
}

// ParseFloat parses what parseDouble does, and how strconv, with which arguments
// are made, writes what is not finite.
func ParseFloat[T string | []byte](text T) (float64, bool) {
	switch string(text) {
	case "+Inf", "Inf":
		return math.Inf(1), true
	case "-Inf":
		return math.Inf(-1), true
	case "NaN":
		return math.NaN(), true
	}
	return parseDouble(text)
}

// ParseUint parses a decimal uint64.
func ParseUint(text []byte) (uint64, bool) {
	v, err := strconv.ParseUint(string(text), 10, 64)
	return v, err == nil
}

// pointInside reports whether the decimal point, if there is one, stands between
// digits, as RESP3 wants it.
func pointInside(text []byte) bool {
	digit := func(i int) bool { return 0 <= i && i < len(text) && text[i]-'0' <= 9 }
	point := bytes.IndexByte(text, '.')
	return point < 0 || digit(point-1) && digit(point+1)
}

// onlyOf reports whether text is not empty and made of the given characters.
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
	long := len(text) > 18 // fewer digits are in any bound
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

// ParseBool knows the answers of Redis: 1 and 0, RESP3's truth values, and OK.
func ParseBool[T string | []byte](text T) (value, ok bool) {
	switch string(text) {
	case "1", "t", "true", "OK":
		return true, true
	case "0", "f", "false":
		return false, true
	}
	return false, false
}

// appendDouble appends what parseDouble parses.
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
