package proto

import (
	"bytes"
	"strconv"
)

// inline reads a request in the form of a line of words, as a person types it. It returns the index
// after the line, and the request in the form of an array. If the line is incomplete, end is 0. If the line
// is empty, encoded is nil.
func inline(buf []byte) (end int, encoded []byte, p Problem) {
	i := bytes.IndexByte(buf[:min(len(buf), lineMost)], '\n')
	switch {
	case i < 0 && len(buf) >= lineMost:
		return 0, nil, longInline
	case i < 0:
		return 0, nil, NoProblem
	}
	words, ok := split(bytes.TrimSuffix(buf[:i], []byte("\r")))
	switch {
	case !ok:
		return 0, nil, unbalanced
	case len(words) == 0:
		return i + 1, nil, NoProblem
	}
	return i + 1, AppendWords(nil, words), NoProblem
}

// split splits a line into words, which may be quoted. ok is false if a quotation does not end, or if its
// end is not followed by a space.
func split(line []byte) (words [][]byte, ok bool) {
	for {
		line = bytes.TrimLeft(line, " \t\r\v\f\x00")
		if len(line) == 0 {
			return words, true
		}
		var word []byte
		for len(line) > 0 && !isSpace(line[0]) {
			var n int
			switch line[0] {
			case '"', '\'':
				if word, n = quoted(word, line); n == 0 || n < len(line) && !isSpace(line[n]) {
					return nil, false
				}
			default:
				word, n = append(word, line[0]), 1
			}
			line = line[n:]
		}
		words = append(words, append([]byte{}, word...))
	}
}

func isSpace(b byte) bool {
	return b == ' ' || b == '\t' || b == '\r' || b == '\v' || b == '\f' || b == 0
}

// quoted appends the content of the quotation at the start of line, and returns the length of the
// quotation, or 0 if it does not end.
func quoted(word, line []byte) (_ []byte, n int) {
	quote := line[0]
	for i := 1; i < len(line); i++ {
		switch b := line[i]; {
		case b == quote:
			return word, i + 1
		case b != '\\' || i+1 == len(line):
			word = append(word, b)
		case quote == '\'':
			if line[i+1] == '\'' {
				i++
			}
			word = append(word, line[i])
		default:
			i++
			if line[i] == 'x' && i+2 < len(line) {
				if v, err := strconv.ParseUint(string(line[i+1:i+3]), 16, 8); err == nil {
					word = append(word, byte(v))
					i += 2
					continue
				}
			}
			word = append(word, unescaped(line[i]))
		}
	}
	return word, 0
}

func unescaped(b byte) byte {
	switch b {
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	case 'b':
		return '\b'
	case 'a':
		return '\a'
	}
	return b
}
