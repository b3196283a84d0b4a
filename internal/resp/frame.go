package resp

import (
	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/errs"
)

// AppendFrame reads the next reply and appends its bytes to dst unchanged, except that it leaves
// out attributes. It is as strict as Decode. If the server answered with an error, refused is that
// error. err means that no reply could be read.
func (d *Decoder) AppendFrame(dst []byte) (frame []byte, refused *errorx.Error, err error) {
	d.size = 0
	return d.appendValue(dst, 0)
}

// appendValue is AppendFrame for a value that is nested depth deep.
func (d *Decoder) appendValue(dst []byte, depth int) (_ []byte, refused *errorx.Error, err error) {
	buf, _ := d.r.Peek(d.r.Buffered())
	if f := d.atHand(buf); f.size > 0 {
		dst = append(dst, buf[:f.size]...)
		d.consume(f.size)
		return dst, nil, nil
	}
	h, line, err := d.begin(depth)
	if err != nil {
		return dst, nil, err
	}
	dst = append(append(dst, line...), crlf...)
	switch h.form {
	case ofLine:
		res, err := oneLine(line)
		refused, _ = res.(*errorx.Error)
		return dst, refused, err
	case ofText:
		at := len(dst)
		if dst, err = d.appendText(dst, h); err != nil {
			return dst, nil, err
		}
		text := dst[at:]
		switch {
		case h.kind == '!':
			refused = ErrorReply(string(text))
		case h.kind == '=' && (len(text) < 4 || text[3] != ':'):
			return dst, nil, bad(errs.ErrResponseFormat, h.kind, "verbatim string has no format")
		}
		return append(dst, crlf...), refused, nil
	case ofElements:
		for range h.n {
			if dst, _, err = d.appendValue(dst, depth+1); err != nil {
				return dst, nil, err
			}
		}
	}
	return dst, nil, nil
}

// appendText appends the string whose header is h, and reads the CRLF after it. dst grows as the
// string arrives.
func (d *Decoder) appendText(dst []byte, h header) ([]byte, error) {
	for n := h.n; n > 0; {
		if d.r.Buffered() == 0 {
			if _, err := d.r.Peek(1); err != nil {
				return dst, d.ioError(err)
			}
		}
		part, _ := d.r.Peek(min(n, d.r.Buffered()))
		dst = append(dst, part...)
		n -= len(part)
		d.consume(len(part))
	}
	return dst, d.end(h)
}
