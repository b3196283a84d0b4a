package resp

import (
	"bufio"
	"bytes"
	"io"
	"strings"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/errs"
)

// Decoder is that of package redis, with what connections need beyond it. It is not safe for
// concurrent use.
type Decoder struct {
	r      *bufio.Reader
	limits Limits
	forms  *forms // of the types that it accepts
	size   int    // bytes consumed by the reply being read
	told   func(*Push)
	pushed Push // what told gets
	heard  func([]any)
}

// NewDecoder returns a Decoder that reads from r.
func NewDecoder(r *bufio.Reader, limits Limits) *Decoder {
	return &Decoder{r: r, limits: limits.withDefaults(), forms: &resp3}
}

// Made returns d. If it has no reader, it reads nothing until Reset.
func (d *Decoder) Made() *Decoder {
	if d.r == nil {
		*d = *NewDecoder(bufio.NewReader(strings.NewReader("")), d.limits)
	}
	return d
}

// OnlyRESP2 makes the decoder refuse the types of RESP3, which no server sends
// unless HELLO has asked for them.
func (d *Decoder) OnlyRESP2() { d.forms = &resp2 }

// OnPush has f called with each push that is skipped, in the goroutine that decodes. The push is
// f's until it returns.
func (d *Decoder) OnPush(f func(*Push)) { d.told = f }

// OnSkipped has f called with the elements of each push that is skipped, in the goroutine that
// decodes, unless OnPush has. They may be any that a reply may have, or none.
func (d *Decoder) OnSkipped(f func([]any)) { d.heard = f }

// Reset makes the decoder read from r, and drops what it has buffered.
func (d *Decoder) Reset(r *bufio.Reader) { d.r = r }

// Buffered returns how many bytes can be decoded without reading.
func (d *Decoder) Buffered() int { return d.r.Buffered() }

// Size returns how many bytes the last reply took, including pushes that were skipped
// before it.
func (d *Decoder) Size() int { return d.size }

// Decode reads the next reply. The result may be an error that the server answered
// with; err means that no reply could be read. Pushes and attributes of RESP3 are
// skipped, since they answer no request.
func (d *Decoder) Decode() (res any, err error) {
	d.size = 0
	return d.value(0)
}

// Next waits until a reply begins, skipping pushes, and returns the type that it begins
// with ('+', '$', ...). It consumes nothing of the reply.
func (d *Decoder) Next() (byte, error) {
	for {
		d.size = 0
		head, err := d.r.Peek(1)
		if err != nil {
			return 0, d.ioError(err)
		}
		if !d.AtPush() {
			return head[0], nil
		}
		if err = d.SkipPush(); err != nil {
			return 0, err
		}
	}
}

// AtPush reports whether a push is what has come next.
func (d *Decoder) AtPush() bool {
	if d.r.Buffered() == 0 || d.forms == &resp2 {
		return false
	}
	head, _ := d.r.Peek(1)
	return head[0] == '>'
}

// SkipPush reads the push that has come next, and waits for what is left of it.
func (d *Decoder) SkipPush() error {
	h, _, err := d.head(0)
	if err != nil {
		return err
	}
	return d.discard(h, 0)
}

// value reads the next value of a reply, nested depth deep.
func (d *Decoder) value(depth int) (any, error) {
	if res, ok := d.valueAtHand(); ok {
		return res, nil
	}
	h, line, err := d.begin(depth)
	if err != nil {
		return nil, err
	}
	return d.rest(h, line, depth)
}

// begin reads the first line of the next value of a reply, which is valid until the next
// read. What answers no request is skipped.
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

// head is begin for a value that may be one that answers no request.
func (d *Decoder) head(depth int) (h header, line []byte, err error) {
	if line, err = d.line(); err == nil {
		h, err = d.header(line, depth)
	}
	return h, line, err
}

// rest reads what follows the first line of a value.
func (d *Decoder) rest(h header, line []byte, depth int) (any, error) {
	switch h.form {
	case ofLine:
		return oneLine(line)
	case ofText:
		if h.kind == '$' {
			return d.bulk(h)
		}
		return d.marked(h)
	case ofElements:
		return d.aggregate(h, depth)
	}
	return nil, nil
}

// line reads a header line and returns it without its CRLF. It is valid until
// the next read.
func (d *Decoder) line() ([]byte, error) {
	line, err := d.r.ReadSlice('\n')
	if err == bufio.ErrBufferFull && d.r.Size() < d.limits.Line {
		long := bytes.Clone(line) // it does not fit into r's buffer
		for err == bufio.ErrBufferFull && len(long) <= d.limits.Line {
			line, err = d.r.ReadSlice('\n')
			long = append(long, line...)
		}
		line = long
	}
	d.size += len(line)
	switch {
	case len(line) > d.limits.Line || err == bufio.ErrBufferFull || err != nil && len(line) == d.limits.Line:
		return nil, bad(errs.ErrHeaderlineTooLarge, line[0], "header line is longer than %d bytes", d.limits.Line)
	case err != nil:
		return nil, d.ioError(err)
	}
	if !ended(line) {
		return nil, badEnd(line)
	}
	return line[:len(line)-len(crlf)], nil
}

// ioError types an error of the reader below. The end of the stream inside of
// a reply is an unexpected one.
func (d *Decoder) ioError(err error) *errorx.Error {
	if err == io.EOF && d.size > 0 {
		err = io.ErrUnexpectedEOF
	}
	return errs.ErrIO.Wrap(err, "reading a reply")
}

// ReplyDecoder is a future that reads its reply by itself, before it is resolved with what
// it returns. Users' futures are none: they can't set wire.Request.Typed.
type ReplyDecoder interface {
	// DecodeReply reads one reply. An error ends the connection.
	DecodeReply(d *Decoder, n uint64) (any, error)
}
