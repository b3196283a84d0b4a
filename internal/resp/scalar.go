package resp

import (
	"math/big"
	"strconv"
)

// Kind is a Go type that a single value can be read as, without reflection.
type Kind uint8

// The kinds of a [Scalar].
const (
	NoKind Kind = iota
	Bytes
	String
	Int
	Float
	Bool
)

// KindOf returns the kind of the variable that dst points to, or NoKind.
func KindOf(dst any) Kind {
	switch dst.(type) {
	case *[]byte:
		return Bytes
	case *string:
		return String
	case *int64:
		return Int
	case *float64:
		return Float
	case *bool:
		return Bool
	}
	return NoKind
}

// Scalar holds a single value of its kind.
type Scalar struct {
	Kind  Kind
	Bytes []byte // Set reuses it if it is large enough
	Text  string
	Int   int64
	Float float64
	Bool  bool
}

// Place returns a pointer to the value.
func (s *Scalar) Place() any {
	switch s.Kind {
	case Bytes:
		return &s.Bytes
	case String:
		return &s.Text
	case Int:
		return &s.Int
	case Float:
		return &s.Float
	case Bool:
		return &s.Bool
	}
	return nil
}

// Set parses the text of a reply into the value. It reports whether the text fits the kind. If not,
// the value is undefined. Set keeps no reference to the text.
//
//go:noinline
func (s *Scalar) Set(text []byte) (ok bool) { return set(s, text) }

// SetText is Set for a text that does not change. It is not generic: the arguments of a generic
// function that another package calls escape to the heap, even if it is inlined there.
//
//go:noinline
func (s *Scalar) SetText(text string) (ok bool) { return set(s, text) }

func set[T string | []byte](s *Scalar, text T) (ok bool) {
	switch s.Kind {
	case Bytes:
		if s.Bytes == nil {
			s.Bytes = []byte{} // an empty string is not null
		}
		s.Bytes, ok = append(s.Bytes[:0], text...), true
	case String:
		s.Text, ok = string(text), true
	case Int:
		s.Int, ok = ParseWhole(text)
	case Float:
		s.Float, ok = ParseFloat(text)
	case Bool:
		s.Bool, ok = ParseBool(text)
	}
	return ok
}

// Store sets the variable that dst points to, which must be of the Scalar's kind.
func (s *Scalar) Store(dst any) {
	switch dst := dst.(type) {
	case *[]byte:
		*dst = s.Bytes
	case *string:
		*dst = s.Text
	case *int64:
		*dst = s.Int
	case *float64:
		*dst = s.Float
	case *bool:
		*dst = s.Bool
	}
}

// DecodeScalar reads the next reply into s if it is a single value of the kind of s. Otherwise it
// returns the reply as Decode does.
func (d *Decoder) DecodeScalar(s *Scalar) (res any, filled bool, err error) {
	d.size = 0
	if d.scalarAtHand(s) {
		return nil, true, nil
	}
	h, line, err := d.begin(0)
	if err != nil {
		return nil, false, err
	}
	switch h.kind {
	case '+', ':', ',':
		if res, err = oneLine(line); err != nil || !s.Set(line[1:]) {
			return res, false, err
		}
		return nil, true, nil
	case '$':
		if h.form == ofText {
			return d.scalarText(s, h)
		}
	}
	res, err = d.rest(h, line, 0)
	return res, false, err
}

// scalarAtHand reads the next reply into s if it is complete in the buffer and of the kind of s.
func (d *Decoder) scalarAtHand(s *Scalar) (filled bool) {
	buf, _ := d.r.Peek(d.r.Buffered())
	f := d.atHand(buf)
	if f.size == 0 {
		return false
	}
	text := buf[1 : f.size-len(crlf)]
	if f.kind == '$' {
		text = buf[f.body:][:f.n]
	}
	if !s.Set(text) {
		return false
	}
	d.consume(f.size)
	return true
}

// scalarText reads the string whose header is h into s.
func (d *Decoder) scalarText(s *Scalar, h header) (res any, filled bool, err error) {
	var own []byte
	if s.Kind == Bytes {
		own = s.Bytes
	}
	text, inBuffer, err := d.text(h, own, false)
	switch {
	case err != nil:
		return nil, false, err
	case !inBuffer && s.Kind == Bytes:
		s.Bytes = text
	case !inBuffer: // only a string can be that long
		return text, false, nil
	case !s.Set(text):
		return owned(text), false, nil
	}
	return nil, true, nil
}

// AppendResult appends the text of a result that is a single value. For a []byte it returns that
// slice itself.
func AppendResult(buf []byte, res any) ([]byte, bool) {
	switch v := res.(type) {
	case []byte:
		return v, true
	case string:
		return append(buf, v...), true
	case int64:
		return strconv.AppendInt(buf, v, 10), true
	case float64:
		return appendDouble(buf, v), true
	case bool:
		return strconv.AppendBool(buf, v), true
	case *big.Int:
		return v.Append(buf, 10), true
	}
	return nil, false
}

// TextOf returns the text of a result that is a bulk string or a simple string.
func TextOf(res any) (string, bool) {
	switch v := res.(type) {
	case []byte:
		return string(v), true
	case string:
		return v, true
	}
	return "", false
}
