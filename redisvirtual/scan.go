package redisvirtual

import (
	"bytes"
	"math"
)

// Bounds of what a client writes, which are those of Redis.
const (
	lineMost  = 64 << 10  // PROTO_INLINE_MAX_SIZE
	bulkMost  = 512 << 20 // proto-max-bulk-len
	wordsMost = math.MaxInt32
	// inputMost bounds a request that is not complete: client-query-buffer-limit.
	inputMost = 1 << 30
)

// scan finds the end of a request. It keeps how far it has come, so that a request which
// arrives in pieces is gone over once.
type scan struct {
	at    int // what is known of the request
	words int // that are still to come
	begun bool
}

// problem is what Redis says of requests that can't be read, before it closes the connection.
type problem string

const (
	noProblem        problem = ""
	tooManyWords     problem = "Protocol error: invalid multibulk length"
	tooLong          problem = "Protocol error: invalid bulk length"
	longCount        problem = "Protocol error: too big mbulk count string"
	longLength       problem = "Protocol error: too big bulk count string"
	longInline       problem = "Protocol error: too big inline request"
	unbalanced       problem = "Protocol error: unbalanced quotes in request"
	longInput        problem = "Protocol error: the request is larger than a server accepts"
	expectedBulk     problem = "Protocol error: expected '$', got '"
	withoutEnd       problem = "Protocol error: a string is not followed by CRLF"
	lengthWithoutEnd problem = "Protocol error: a length is not followed by CRLF"
)

// request returns where the first request of buf ends, or 0 if it is not complete. empty is
// set if it has no words, and needs no answer.
func (s *scan) request(buf []byte) (end int, empty bool, p problem) {
	if len(buf) == 0 {
		return 0, false, noProblem
	}
	if !s.begun {
		n, at, p := number(buf, 0, tooManyWords, longCount)
		switch {
		case at == 0 || p != noProblem:
			return 0, false, p
		case n > wordsMost:
			return 0, false, tooManyWords
		case n <= 0:
			return at, true, noProblem
		}
		*s = scan{at: at, words: n, begun: true}
	}
	for ; s.words > 0; s.words-- {
		if len(buf) <= s.at {
			return 0, false, noProblem
		}
		if buf[s.at] != '$' {
			return 0, false, expectedBulk + problem(shown(buf[s.at])) + "'"
		}
		n, at, p := number(buf, s.at, tooLong, longLength)
		switch {
		case at == 0 || p != noProblem:
			return 0, false, p
		case n < 0 || n > bulkMost:
			return 0, false, tooLong
		case len(buf)-at < n+2:
			return 0, false, noProblem
		case buf[at+n] != '\r' || buf[at+n+1] != '\n':
			return 0, false, withoutEnd
		}
		s.at = at + n + 2
	}
	end = s.at
	*s = scan{}
	return end, false, noProblem
}

// shown is a byte as an error reply can have it, which is a line.
func shown(b byte) string {
	if b < ' ' || b > '~' {
		return "?"
	}
	return string(rune(b))
}

// number reads the length that stands behind the type at a place, and returns where its line
// ends: 0 if that has not come. Lengths are plain decimals, as the library writes them.
func number(buf []byte, at int, bad, long problem) (n, end int, p problem) {
	line := buf[at+1:]
	i := bytes.IndexByte(line[:min(len(line), lineMost)], '\n')
	switch {
	case i < 0 && len(line) >= lineMost:
		return 0, 0, long
	case i < 0:
		return 0, 0, noProblem
	case i == 0 || line[i-1] != '\r':
		return 0, 0, lengthWithoutEnd
	}
	digits := line[:i-1]
	negative := len(digits) > 0 && digits[0] == '-'
	if negative {
		digits = digits[1:]
	}
	if len(digits) == 0 || len(digits) > 10 || digits[0] == '0' && (negative || len(digits) > 1) {
		return 0, 0, bad
	}
	for _, d := range digits {
		if d < '0' || d > '9' {
			return 0, 0, bad
		}
		n = n*10 + int(d-'0')
	}
	if negative {
		n = -n
	}
	return n, at + 1 + i + 1, noProblem
}
