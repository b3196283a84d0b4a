package replies

import (
	"bytes"
	"strconv"

	"github.com/joomcode/redispipe/internal/prefix"
)

// strip removes the prefix from the names in the reply to request n. The frame is the whole reply; the result uses its
// memory.
func (f *Flight) strip(n int, frame []byte) []byte {
	if f.names == nil {
		return frame
	}
	last := len(f.names) - 1
	s := stripping{prefix: string(f.to.terms.Prefix), in: frame, out: frame[:0]}
	if f.whole && n == last {
		return s.transaction(f.names[1:last])
	}
	s.value(f.names[n])
	return s.out
}

// stripping removes a prefix from the names in a reply. in is the part that it has not read yet. out is the new reply. It
// uses the same memory, because it is never longer than the part that was read.
type stripping struct {
	prefix  string
	in, out []byte
}

// transaction removes the prefix from the results of EXEC. names has an entry for each of them. Another reply, such as
// an error or null, is unchanged.
func (s *stripping) transaction(names []prefix.Names) []byte {
	frame := s.in
	if kind, n := s.line(); kind != '*' || n != len(names) {
		return frame
	}
	for _, of := range names {
		s.value(of)
	}
	return s.out
}

// line copies a line, and returns its first byte, and the number in the rest of it, if there is one.
func (s *stripping) line() (kind byte, n int) {
	end := bytes.IndexByte(s.in, '\n') + 1
	kind = s.in[0]
	n, _ = strconv.Atoi(string(s.in[1 : end-len("\r\n")]))
	s.copy(end)
	return kind, n
}

func (s *stripping) copy(n int) {
	s.out, s.in = append(s.out, s.in[:n]...), s.in[n:]
}

// value copies a value, without the prefix of the names in it.
func (s *stripping) value(names prefix.Names) {
	at := len(s.out)
	kind, n := s.line()
	switch kind {
	case '$', '=', '!':
		switch {
		case n >= 0 && kind == '$' && names == prefix.IsName && bytes.HasPrefix(s.in[:n], []byte(s.prefix)):
			s.in, n = s.in[len(s.prefix):], n-len(s.prefix)
			s.out = append(strconv.AppendInt(append(s.out[:at], '$'), int64(n), 10), "\r\n"...)
		case n < 0 && names != prefix.NoNames && names != prefix.IsName:
			s.out[at] = '*' // a null array that was decoded is encoded as a null string
		}
		if n >= 0 {
			s.copy(n + len("\r\n"))
		}
	case '%':
		for i := range 2 * n {
			s.value(names.Of(i, true))
		}
	case '*', '~', '>':
		for i := range n {
			s.value(names.Of(i, false))
		}
	}
}
