package resp

import (
	"bytes"
	"errors"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// parseBig parses a whole number of any size, which costs the square of its length: it is for
// lines, which are bounded.
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

// parseDouble parses a number as RESP3 has it. It fits unless it is beyond the range of a float64:
// servers count with more bits.
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

// IsBeyondFloat reports whether text is a number beyond the range of a float64.
func IsBeyondFloat(text []byte) bool {
	_, fits, ok := parseDouble(text)
	return ok && !fits
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

// scientificMost is how long the text of an integer of 64 bits in scientific form is at the most:
// a sign, 20 digits with a point, and an exponent.
const scientificMost = len("-1.2345678901234567890e+19")

// parseScientific parses an integer in scientific form, as servers up to Redis 7.0 write a great
// score with RESP2. If it has no more than the 17 digits that servers write of a float64, it is the
// integer which that float64 is: the digits may be those of one beside it.
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
