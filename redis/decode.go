package redis

import (
	"bufio"
	"bytes"
	"io"

	"github.com/joomcode/errorx"
)

// Results that come often are boxed once.
var (
	resultOK     any = "OK"
	resultQueued any = "QUEUED"
	resultPong   any = "PONG"
)

// Decoder reads RESP2 and RESP3 replies. It is strict: an invalid reply is an error,
// never a value. After an error of Decode it can't be used any more. It is not safe for
// concurrent use.
type Decoder struct {
	r      *bufio.Reader
	limits Limits
	resp2  bool   // refuse the types of RESP3
	size   int    // bytes consumed by the reply being read
	long   []byte // a line longer than r's buffer, while it is being used
}

// NewDecoder returns a Decoder that reads from r.
func NewDecoder(r *bufio.Reader, limits Limits) *Decoder {
	return &Decoder{r: r, limits: limits.withDefaults()}
}

// OnlyRESP2 makes the decoder refuse the types of RESP3, which no server sends
// unless HELLO has asked for them.
func (d *Decoder) OnlyRESP2() { d.resp2 = true }

// ReadResponse reads one response. It returns the result, or the error for which there
// is none, and how many bytes it consumed. A header line has to fit into the reader's
// buffer; the other bounds are the defaults of [Limits].
func ReadResponse(r *bufio.Reader) (any, int) {
	d := Decoder{r: r, limits: Limits{Line: r.Size()}.withDefaults()}
	res, err := d.Decode()
	if err != nil {
		return err, d.size
	}
	return res, d.size
}

// Decode reads the next reply. The result may be an error that the server answered
// with; err means that no reply could be read. Pushes and attributes of RESP3 are
// skipped, since they answer no request.
func (d *Decoder) Decode() (res any, err error) {
	if res, ok := d.decodeAtHand(); ok {
		return res, nil
	}
	d.size = 0
	return d.value(0)
}

// Next waits until a reply begins, skipping pushes, and returns the type that it begins
// with ('+', '$', ...). It consumes nothing of the reply.
func (d *Decoder) Next() (byte, error) {
	for {
		head, err := d.r.Peek(1)
		if err != nil {
			d.size = 0
			return 0, d.ioError(err)
		}
		if head[0] != '>' || d.resp2 {
			return head[0], nil
		}
		if _, err := d.frame(0); err != nil {
			return 0, err
		}
	}
}

// Reset makes the decoder read from r, and drops what it has buffered.
func (d *Decoder) Reset(r *bufio.Reader) { d.r = r }

// Buffered returns how many bytes can be decoded without reading.
func (d *Decoder) Buffered() int { return d.r.Buffered() }

// Size returns how many bytes the last reply took, including pushes that were skipped
// before it.
func (d *Decoder) Size() int { return d.size }

// skipped stands for a push or an attribute.
type skipped struct{}

// value reads the next value of a reply that is nested depth deep.
func (d *Decoder) value(depth int) (any, error) {
	for {
		v, err := d.frame(depth)
		if v != any(skipped{}) {
			return v, err
		}
	}
}

func (d *Decoder) frame(depth int) (any, error) {
	line, err := d.line()
	if err != nil {
		return nil, err
	}
	kind := line[0]
	if d.resp2 && bytes.IndexByte([]byte("+-:$*"), kind) < 0 {
		return nil, errLine(ErrUnknownHeaderType, line)
	}
	switch kind {
	case '+', '-', ':', '_', '#', ',', '(':
		return oneLine(line)
	case '$', '=', '!':
		return d.bulk(kind, line)
	case '*', '~', '%', '>', '|':
		return d.aggregate(kind, line, depth)
	}
	return nil, errLine(ErrUnknownHeaderType, line)
}

// oneLine decodes the types that are a line and no more.
func oneLine(line []byte) (any, error) {
	body := line[1:]
	switch line[0] {
	case '+':
		return simple(body)
	case '-':
		if bytes.IndexByte(body, '\r') >= 0 {
			return nil, errLine(ErrResponseFormat, line)
		}
		return errorReply(string(body)), nil
	case ':':
		v, ok := parseInt(body)
		if !ok {
			return nil, errLine(ErrIntegerParsing, line)
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
		if v, ok := parseDouble(body); ok && pointInside(body) {
			return v, nil
		}
	case '(':
		if v, ok := parseBig(body); ok {
			return v, nil
		}
	}
	return nil, errLine(ErrResponseFormat, line)
}

func simple(body []byte) (any, error) {
	switch string(body) {
	case "OK":
		return resultOK, nil
	case "QUEUED":
		return resultQueued, nil
	case "PONG":
		return resultPong, nil
	}
	if bytes.IndexByte(body, '\r') >= 0 {
		return nil, errLine(ErrResponseFormat, body)
	}
	return string(body), nil
}

// line reads a header line and returns it without its CRLF. It is valid until
// the next read.
func (d *Decoder) line() ([]byte, error) {
	line, err := d.r.ReadSlice('\n')
	if err == bufio.ErrBufferFull && d.r.Size() < d.limits.Line {
		d.long = append(d.long[:0], line...)
		for err == bufio.ErrBufferFull && len(d.long) <= d.limits.Line {
			line, err = d.r.ReadSlice('\n')
			d.long = append(d.long, line...)
		}
		line, d.long = d.long, nil
	}
	d.size += len(line)
	switch {
	case len(line) > d.limits.Line || err == bufio.ErrBufferFull || err != nil && len(line) == d.limits.Line:
		return nil, ErrHeaderlineTooLarge.New("header line is longer than %d bytes", d.limits.Line)
	case err != nil:
		return nil, d.ioError(err)
	case len(line) == 1 || len(line) == 2 && line[0] == '\r':
		return nil, ErrHeaderlineEmpty.New("header line is empty")
	case line[len(line)-2] != '\r':
		return nil, ErrNoFinalRN.New("header line does not end in CRLF")
	}
	return line[:len(line)-2], nil
}

// length parses what follows the type of a string or an aggregate: -1 is
// returned for null, where null is legal.
func (d *Decoder) length(line []byte, limit int) (int, error) {
	kind, body := line[0], line[1:]
	if len(body) == 2 && body[0] == '-' && body[1] == '1' && (kind == '$' || kind == '*') {
		return -1, nil
	}
	if len(body) == 0 || body[0] == '+' {
		return 0, errLine(ErrIntegerParsing, line)
	}
	n, ok := parseInt(body)
	switch {
	case !ok:
		return 0, errLine(ErrIntegerParsing, line)
	case n < 0 || body[0] == '-':
		return 0, errLine(ErrResponseFormat, line)
	case n > int64(limit):
		return 0, ErrResponseTooLarge.New("length %d is over the limit of %d", n, limit)
	}
	return int(n), nil
}

// ioError types an error of the reader below. The end of the stream inside of
// a reply is an unexpected one.
func (d *Decoder) ioError(err error) *errorx.Error {
	if err == io.EOF && d.size > 0 {
		err = io.ErrUnexpectedEOF
	}
	return ErrIO.Wrap(err, "reading a reply")
}

func errLine(t *errorx.Type, line []byte) *errorx.Error {
	const shown = 64 // enough to recognize what it is
	return t.New("bad header line of %d bytes", len(line)).
		WithProperty(EKLine, bytes.Clone(line[:min(len(line), shown)]))
}
