package resp

import (
	"io"

	"github.com/joomcode/redispipe/internal/errs"
)

// firstStep is the least length of the first step in which a string is read, so that a length alone
// can't claim memory. If a longer string has arrived before, the first step is as long as the
// longest one. Each further step doubles the number of bytes read. firstStep is less than 64 KiB,
// the most that a false length may cost together with its error.
const firstStep = 56 << 10

// text reads the string whose header is h, and the CRLF after it. If inBuffer is true, the string
// lies in the reader's buffer and is valid until the next read. Otherwise the caller owns the
// string: it is in own if own is large enough, and otherwise in a new slice, which grows as the
// string arrives. If keeps is set, inBuffer is always false.
func (d *Decoder) text(h header, own []byte, keeps bool) (text []byte, inBuffer bool, err error) {
	n := h.n
	if n <= d.r.Size()-len(crlf) && (!keeps || n+len(crlf) <= d.r.Buffered()) {
		text, err = d.r.Peek(n + len(crlf))
		d.size += len(text)
		if err != nil {
			return nil, true, d.ioError(err)
		}
		if string(text[n:]) != crlf {
			return nil, true, badTail(h)
		}
		_, _ = d.r.Discard(len(text))
		if keeps {
			return owned(text[:n]), false, nil
		}
		return text[:n], true, nil
	}
	if cap(own) < n {
		own = make([]byte, min(n, max(firstStep, d.longest)))
	}
	text = own[:min(n, cap(own))]
	for read := 0; ; {
		m, err := io.ReadFull(d.r, text[read:])
		d.size += m
		if err != nil {
			return nil, false, d.ioError(err)
		}
		if read = len(text); read == n {
			d.longest = max(d.longest, n)
			return text, false, d.end(h)
		}
		text = append(make([]byte, 0, min(n, 2*read)), text...)
		text = text[:min(n, cap(text))]
	}
}

// end reads the end of the string whose header is h.
func (d *Decoder) end(h header) error {
	end, err := d.r.Peek(len(crlf))
	d.size += len(end)
	if err != nil {
		return d.ioError(err)
	}
	if string(end) != crlf {
		return badTail(h)
	}
	_, _ = d.r.Discard(len(crlf))
	return nil
}

// bulk reads the bulk string whose header is h.
func (d *Decoder) bulk(h header) (any, error) {
	if h.n == 0 {
		return resultEmpty, d.end(h)
	}
	text, _, err := d.text(h, nil, true)
	if err != nil {
		return nil, err
	}
	return text, nil
}

// marked reads a verbatim string, or the text of an error.
func (d *Decoder) marked(h header) (any, error) {
	text, _, err := d.text(h, nil, false)
	switch {
	case err != nil:
		return nil, err
	case h.kind == '!':
		return ErrorReply(string(text)), nil
	case len(text) < 4 || text[3] != ':':
		return nil, bad(errs.ErrResponseFormat, h.kind, "verbatim string has no format")
	}
	return string(text[4:]), nil
}

// DecodeTo reads the next reply. If it is a bulk string, DecodeTo writes it to w as it arrives and
// returns its length (int64). It returns any other reply as Decode does. If w fails, the error is
// an [ErrIO] and the decoder can't be used any more.
func (d *Decoder) DecodeTo(w io.Writer) (any, error) {
	d.size = 0
	h, line, err := d.begin(0)
	if err != nil {
		return nil, err
	}
	if h.kind != '$' || h.form != ofText {
		return d.rest(h, line, 0)
	}
	m, err := io.CopyN(w, d.r, int64(h.n))
	d.size += int(m)
	switch err {
	case nil:
		return int64(h.n), d.end(h)
	case io.EOF:
		return nil, d.ioError(err)
	}
	return nil, errs.ErrIO.Wrap(err, "streaming a reply")
}
