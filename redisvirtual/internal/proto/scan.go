package proto

import "bytes"

// Scan finds the requests in the data that a client writes. If a request arrives in pieces, Scan continues
// where it stopped, so it reads each byte once. It keeps no reference to the data.
type Scan struct {
	at    int  // the index up to which the current request has been read
	words int  // how many words of it are missing
	begun bool // the number of words has been read
}

// Problem is the error text with which Redis answers a request that it can't parse, before it closes the
// connection.
type Problem string

// NoProblem means that there is no error so far.
const NoProblem Problem = ""

const (
	tooManyWords     Problem = "Protocol error: invalid multibulk length"
	tooLong          Problem = "Protocol error: invalid bulk length"
	longCount        Problem = "Protocol error: too big mbulk count string"
	longLength       Problem = "Protocol error: too big bulk count string"
	longInline       Problem = "Protocol error: too big inline request"
	unbalanced       Problem = "Protocol error: unbalanced quotes in request"
	longInput        Problem = "Protocol error: the request is larger than a server accepts"
	expectedBulk     Problem = "Protocol error: expected '$', got '"
	withoutEnd       Problem = "Protocol error: a string is not followed by CRLF"
	lengthWithoutEnd Problem = "Protocol error: a length is not followed by CRLF"
)

// Next returns the index after the first request in buf, and the request in the form of an array. If the
// request is incomplete, end is 0. If it has no words, so that servers do not answer it, request is nil.
func (s *Scan) Next(buf []byte) (end int, request []byte, p Problem) {
	if len(buf) == 0 {
		return 0, nil, NoProblem
	}
	if !s.begun && buf[0] != '*' {
		return inline(buf)
	}
	end, empty, p := s.array(buf)
	switch {
	case p == NoProblem && (end > Most || end == 0 && len(buf) > Most):
		end, p = 0, longInput
	case end > 0 && !empty:
		request = buf[:end:end]
	}
	return end, request, p
}

// array is Next for a request in the form of an array. empty is true if the request has no words.
func (s *Scan) array(buf []byte) (end int, empty bool, p Problem) {
	if !s.begun {
		n, at, p := number(buf, 0, tooManyWords, longCount)
		switch {
		case at == 0 || p != NoProblem:
			return 0, false, p
		case n > wordsMost:
			return 0, false, tooManyWords
		case n <= 0:
			return at, true, NoProblem
		}
		*s = Scan{at: at, words: n, begun: true}
	}
	for ; s.words > 0; s.words-- {
		if len(buf) <= s.at {
			return 0, false, NoProblem
		}
		if buf[s.at] != '$' {
			return 0, false, expectedBulk + Problem(shown(buf[s.at])) + "'"
		}
		n, at, p := number(buf, s.at, tooLong, longLength)
		switch {
		case at == 0 || p != NoProblem:
			return 0, false, p
		case n < 0 || n > WordMost:
			return 0, false, tooLong
		case len(buf)-at < n+2:
			return 0, false, NoProblem
		case buf[at+n] != '\r' || buf[at+n+1] != '\n':
			return 0, false, withoutEnd
		}
		s.at = at + n + 2
	}
	end = s.at
	*s = Scan{}
	return end, false, NoProblem
}

// shown formats a byte for an error reply.
func shown(b byte) string {
	if b < ' ' || b > '~' {
		return "?"
	}
	return string(rune(b))
}

// number parses the length behind the type byte at the index at. It returns the length and the index after
// the line; end is 0 if the line is incomplete. It accepts only plain decimal numbers, because the library
// sends the bytes on to a server as they are.
func number(buf []byte, at int, bad, long Problem) (n, end int, p Problem) {
	line := buf[at+1:]
	i := bytes.IndexByte(line[:min(len(line), lineMost)], '\n')
	switch {
	case i < 0 && len(line) >= lineMost:
		return 0, 0, long
	case i < 0:
		return 0, 0, NoProblem
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
	return n, at + 1 + i + 1, NoProblem
}
