package resp

import (
	"bufio"
	"bytes"
	"io"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/errs"
)

const crlf = "\r\n"

// form is the form of the bytes that follow the first line of a value.
type form uint8

const (
	ofNothing  form = iota // there is no such type
	ofLine                 // no bytes: the line is the whole value
	ofText                 // a string
	ofElements             // more values
	ofNull                 // no bytes: the line is a null string or a null array
)

// forms has the form of each type of a version of the protocol.
type forms [256]form

var (
	resp2 = forms{'+': ofLine, '-': ofLine, ':': ofLine, '$': ofText, '*': ofElements}
	resp3 = forms{
		'+': ofLine, '-': ofLine, ':': ofLine, '$': ofText, '*': ofElements,
		'_': ofLine, '#': ofLine, ',': ofLine, '(': ofLine, '=': ofText, '!': ofText,
		'~': ofElements, '%': ofElements, '>': ofElements, '|': ofElements,
	}
)

// header is the first line of a value.
type header struct {
	kind byte // '+', '$', ...
	form form // of the bytes that follow
	n    int  // the length of the string, or the number of values that follow
}

// begin reads the first line of the next value of a reply. It skips pushes and attributes, which
// answer no request. The line is valid until the next read.
func (d *Decoder) begin(depth int) (header, []byte, error) {
	for {
		h, line, err := d.head(depth)
		if err != nil || !h.skipped() {
			return h, line, err
		}
		if err = d.discard(h, depth); err != nil {
			return h, nil, err
		}
	}
}

// head reads the first line of the next value. Unlike begin, it skips nothing.
func (d *Decoder) head(depth int) (h header, line []byte, err error) {
	if line, err = d.line(); err == nil {
		h, err = d.header(line, depth)
	}
	return h, line, err
}

// line reads a header line and returns it without its CRLF. The line is valid until the next read.
func (d *Decoder) line() ([]byte, error) {
	line, err := d.r.ReadSlice('\n')
	limit := d.limits.Line
	if len(line) > 0 && (line[0] == ',' || line[0] == '(') {
		limit = max(limit, min(d.limits.Bulk, numberMost))
	}
	if err == bufio.ErrBufferFull && d.r.Size() < limit {
		long := bytes.Clone(line) // the line does not fit into r's buffer
		for err == bufio.ErrBufferFull && len(long) <= limit {
			line, err = d.r.ReadSlice('\n')
			long = append(long, line...)
		}
		line = long
	}
	d.size += len(line)
	switch {
	case len(line) > limit || err == bufio.ErrBufferFull || err != nil && len(line) == limit:
		return nil, bad(errs.ErrHeaderlineTooLarge, line[0], "header line is longer than %d bytes", limit)
	case err != nil:
		return nil, d.ioError(err)
	}
	if !ended(line) {
		return nil, badEnd(line)
	}
	return line[:len(line)-len(crlf)], nil
}

// header parses the first line of a value that is nested depth deep. It returns an error if the
// value exceeds a limit.
func (d *Decoder) header(line []byte, depth int) (h header, err error) {
	h = header{kind: line[0], form: d.forms[line[0]]}
	switch h.form {
	case ofNothing:
		return h, badLine(errs.ErrUnknownHeaderType, line)
	case ofText:
		h.n, err = length(line, d.limits.Bulk)
	case ofElements:
		h.n, err = length(line, d.limits.Elements)
		if err == nil && h.n >= 0 {
			h.n, err = d.nested(h, depth)
		}
	}
	if h.n < 0 {
		h.form = ofNull
	}
	return h, err
}

// nested returns the number of values in an aggregate.
func (d *Decoder) nested(h header, depth int) (int, error) {
	switch {
	case depth >= d.limits.Depth:
		return 0, bad(errs.ErrResponseTooLarge, h.kind, "nested deeper than %d", d.limits.Depth)
	case h.kind == '>' && depth > 0:
		return 0, bad(errs.ErrResponseFormat, h.kind, "push inside of a reply")
	case h.kind != '%' && h.kind != '|':
		return h.n, nil
	case h.n > d.limits.Elements/2:
		return 0, bad(errs.ErrResponseTooLarge, h.kind, "map of %d pairs is over the limit of %d elements", h.n, d.limits.Elements)
	}
	return 2 * h.n, nil
}

// skipped reports whether the value answers no request: it is a push or an attribute.
func (h header) skipped() bool { return h.kind == '>' || h.kind == '|' }

// length parses the length in the first line of a string or an aggregate. For null, where null is
// legal, it returns -1.
func length(line []byte, limit int) (int, error) {
	kind, body := line[0], line[1:]
	if len(body) == 2 && body[0] == '-' && body[1] == '1' && (kind == '$' || kind == '*') {
		return -1, nil
	}
	if len(body) == 0 || body[0] == '+' {
		return 0, badLine(errs.ErrIntegerParsing, line)
	}
	n, ok := ParseInt(body)
	switch {
	case !ok:
		return 0, badLine(errs.ErrIntegerParsing, line)
	case n < 0 || body[0] == '-':
		return 0, badLine(errs.ErrResponseFormat, line)
	case n > int64(limit):
		return 0, bad(errs.ErrResponseTooLarge, kind, "length %d is over the limit of %d", n, limit)
	}
	return int(n), nil
}

// bad returns the error of a reply that violates the protocol or a limit. kind is the type of the
// offending value: '+', '$', ...
func bad(t *errorx.Type, kind byte, format string, args ...any) *errorx.Error {
	return t.New("%q: "+format, append([]any{kind}, args...)...)
}

// badLine is bad for the first line of a value. It quotes enough of the line to recognize it.
func badLine(t *errorx.Type, line []byte) *errorx.Error {
	const kept = 64
	return bad(t, line[0], "bad header line of %d bytes", len(line)).
		WithProperty(errs.EKLine, bytes.Clone(line[:min(len(line), kept)]))
}

// badEnd returns the error of a line without a proper end.
func badEnd(line []byte) *errorx.Error {
	if len(line) == 1 || string(line) == crlf {
		return bad(errs.ErrHeaderlineEmpty, line[0], "header line is empty")
	}
	return bad(errs.ErrNoFinalRN, line[0], "header line does not end in CRLF")
}

// badTail is bad for a string that does not end in CRLF.
func badTail(h header) *errorx.Error {
	return bad(errs.ErrNoFinalRN, h.kind, "string is not followed by CRLF")
}

// badRedirect is bad for the text of an error that begins like a redirect.
func badRedirect(t *errorx.Type, text, why string) *errorx.Error {
	return bad(t, '-', "%s", why).WithProperty(errs.EKLine, []byte(text))
}

// ioError gives an error of the underlying reader its type. If the stream ends within a reply, that
// is an unexpected end.
func (d *Decoder) ioError(err error) *errorx.Error {
	if err == io.EOF && d.size > 0 {
		err = io.ErrUnexpectedEOF
	}
	return errs.ErrIO.Wrap(err, "reading a reply")
}

// ended reports whether a line that ends in LF is not empty and ends in CRLF.
func ended(line []byte) bool { return len(line) > len(crlf) && line[len(line)-len(crlf)] == '\r' }

// oneLine decodes the types that consist of one line.
func oneLine(line []byte) (any, error) {
	body := line[1:]
	switch line[0] {
	case '+':
		return simple(line)
	case '-':
		if bytes.IndexByte(body, '\r') >= 0 {
			return nil, badLine(errs.ErrResponseFormat, line)
		}
		return ErrorReply(string(body)), nil
	case ':':
		v, ok := ParseInt(body)
		if !ok {
			return nil, badLine(errs.ErrIntegerParsing, line)
		}
		return v, nil
	case '_':
		if len(body) == 0 {
			return nil, nil
		}
	case '#':
		if len(body) == 1 && (body[0] == 't' || body[0] == 'f') {
			return body[0] == 't', nil
		}
	case ',':
		v, fits, ok := parseDouble(body)
		switch {
		case !ok || !pointInside(body):
		case !fits:
			return bytes.Clone(body), nil
		default:
			return v, nil
		}
	case '(':
		if v, ok := parseBig(body); ok {
			return v, nil
		}
	}
	return nil, badLine(errs.ErrResponseFormat, line)
}

// Frequent results are converted to interfaces only once.
var (
	resultOK     any = "OK"
	resultQueued any = "QUEUED"
	resultPong   any = "PONG"
	resultEmpty  any = []byte{}
	resultNone   any = []any{}
)

func simple(line []byte) (any, error) {
	body := line[1:]
	switch string(body) {
	case "OK":
		return resultOK, nil
	case "QUEUED":
		return resultQueued, nil
	case "PONG":
		return resultPong, nil
	}
	if bytes.IndexByte(body, '\r') >= 0 {
		return nil, badLine(errs.ErrResponseFormat, line)
	}
	return string(body), nil
}
