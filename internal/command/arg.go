package command

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

// count reads a number of keys, of any type that is sent as one. It is not ok unless the number is in 1 … Words.
func (c *Call) count(p int) (n int, ok bool) {
	if p <= c.shift {
		return parseCount(c.word, c.Words())
	}
	if p >= c.Words() {
		return 0, false
	}
	switch x := c.args[c.argIndex(p)].(type) {
	case string:
		return parseCount(x, c.Words())
	case []byte:
		return parseCount(x, c.Words())
	default:
		var room [32]byte
		text, _ := AppendNumber(room[:0], x)
		return parseCount(text, c.Words())
	}
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
