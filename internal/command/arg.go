package command

import "math"

// Words is how many words are sent, the command's name included.
func (c *Call) Words() int {
	return 1 + c.shift + len(c.args)
}

// argIndex turns a position into an index in the arguments.
func (c *Call) argIndex(p int) int {
	if p <= c.shift {
		return InCmd
	}
	return p - 1 - c.shift
}

// find returns the position of a keyword, from that position on, or 0.
func (c *Call) find(word string, from int) int {
	for p := from; p < c.Words(); p++ {
		if c.is(p, word) {
			return p
		}
	}
	return 0
}

// is compares what is at a position with an upper-case keyword, in any case.
func (c *Call) is(p int, word string) bool {
	if p <= c.shift {
		return equalFold(c.word, word)
	}
	if p >= c.Words() {
		return false
	}
	switch s := c.args[c.argIndex(p)].(type) {
	case string:
		return equalFold(s, word)
	case []byte:
		return equalFold(s, word)
	case nil:
		return word == ""
	}
	return false
}

// equalFold compares with an upper-case ASCII word, in any case.
func equalFold[S string | []byte](s S, upper string) bool {
	if len(s) != len(upper) {
		return false
	}
	for i := range len(upper) {
		b := s[i]
		if 'a' <= b && b <= 'z' {
			b -= 'a' - 'A'
		}
		if b != upper[i] {
			return false
		}
	}
	return true
}

// count reads a number of keys, of any type that is encoded as a number. It is
// not ok unless the number is in 1 … Words.
func (c *Call) count(p int) (n int, ok bool) {
	if p <= c.shift {
		return parseCount(c.word, c.Words())
	}
	if p >= c.Words() {
		return 0, false
	}
	var v uint64
	switch x := c.args[c.argIndex(p)].(type) {
	case string:
		return parseCount(x, c.Words())
	case []byte:
		return parseCount(x, c.Words())
	case int:
		v = uint64(x)
	case int8:
		v = uint64(x)
	case int16:
		v = uint64(x)
	case int32:
		v = uint64(x)
	case int64:
		v = uint64(x)
	case uint:
		v = uint64(x)
	case uint8:
		v = uint64(x)
	case uint16:
		v = uint64(x)
	case uint32:
		v = uint64(x)
	case uint64:
		v = x
	case uintptr:
		v = uint64(x)
	case float32:
		v = wholeCount(float64(x))
	case float64:
		v = wholeCount(x)
	case bool:
		if x {
			v = 1
		}
	}
	// A negative number has become too large a one.
	return int(v), 1 <= v && v <= uint64(c.Words())
}

// wholeCount is f as an integer, or 0 if it can't be a count.
func wholeCount(f float64) uint64 {
	if f != math.Trunc(f) || f < 0 || f > math.MaxInt32 {
		return 0
	}
	return uint64(f)
}

// parseCount reads a plain decimal, as strictly as the server does.
func parseCount[S string | []byte](s S, limit int) (n int, ok bool) {
	if len(s) == 0 || s[0] == '0' {
		return 0, false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' || n > limit {
			return 0, false
		}
		n = n*10 + int(s[i]-'0')
	}
	return n, n <= limit
}
