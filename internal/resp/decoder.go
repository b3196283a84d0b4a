package resp

import (
	"bufio"
	"bytes"
	"strings"
)

// Decoder is redis.Decoder, with additional methods for connections. It is not safe for concurrent
// use.
type Decoder struct {
	r      *bufio.Reader
	limits Limits
	forms  *forms // the types that the decoder accepts
	size   int    // bytes consumed by the reply being read
	// longest is the length of the longest string that has been read in steps.
	longest int
	told    func(*Push)
	pushed  Push // the push that is passed to told
	heard   func([]any)
}

// NewDecoder returns a Decoder that reads from r.
func NewDecoder(r *bufio.Reader, limits Limits) *Decoder {
	return &Decoder{r: r, limits: limits.withDefaults(), forms: &resp3}
}

// Made returns d. If d is a zero Decoder, Made initializes it; it has no reader until Reset.
func (d *Decoder) Made() *Decoder {
	if d.r == nil {
		*d = *NewDecoder(bufio.NewReader(strings.NewReader("")), d.limits)
	}
	return d
}

// OnlyRESP2 makes the decoder refuse the types of RESP3, which no server sends
// unless HELLO has asked for them.
func (d *Decoder) OnlyRESP2() { d.forms = &resp2 }

// OnPush makes the decoder call f with each push that it skips, in the goroutine that decodes. f
// must not keep the push.
func (d *Decoder) OnPush(f func(*Push)) { d.told = f }

// OnSkipped makes the decoder call f with the elements of each push that it skips, in the goroutine
// that decodes. It has no effect if OnPush is set. There may be any number of elements, of any
// types.
func (d *Decoder) OnSkipped(f func([]any)) { d.heard = f }

// Reset makes the decoder read from r, and drops what it has buffered.
func (d *Decoder) Reset(r *bufio.Reader) { d.r = r }

// Buffered returns how many bytes can be decoded without reading.
func (d *Decoder) Buffered() int { return d.r.Buffered() }

// Size returns how many bytes the last reply took, including pushes that were skipped
// before it.
func (d *Decoder) Size() int { return d.size }

// Decode reads the next reply. If the server answered with an error, res is that error; err means
// that no reply could be read. Decode skips pushes and attributes of RESP3, because they answer no
// request.
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

// AtPush reports whether the buffered bytes begin with a push.
func (d *Decoder) AtPush() bool {
	if d.r.Buffered() == 0 || d.forms == &resp2 {
		return false
	}
	head, _ := d.r.Peek(1)
	return head[0] == '>'
}

// SkipPush reads the push that has begun to arrive, and waits for the rest of it.
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

// rest reads the rest of a value, after its first line.
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

// The following functions decode replies that are complete in the buffer. Most replies are
// complete, and are OK, a string or a number. These are decoded in one step instead of three for
// line, length and body.

// atHand is the position of a reply that is complete in the buffer. A size of 0 means that there is
// none.
type atHand struct {
	kind       byte
	n          int64 // the number, or the length of the string
	body, size int
}

// atHand finds the reply at the start of buf, if it is complete and of a simple kind. A reply that
// is malformed or exceeds a limit is never at hand.
func (d *Decoder) atHand(buf []byte) (f atHand) {
	if len(buf) < 4 {
		return f
	}
	switch buf[0] {
	case '+':
		if len(buf) >= 5 && string(buf[:5]) == "+OK\r\n" && d.limits.Line >= 5 {
			return atHand{kind: '+', size: 5}
		}
		return f
	case '$', ':':
		if buf[1]-'0' > 9 {
			return f
		}
	default:
		return f
	}
	n, i := int64(0), 1
	for ; i < min(len(buf), atHandDigits); i++ {
		digit := buf[i] - '0'
		if digit > 9 {
			break
		}
		n = n*10 + int64(digit)
	}
	end := i + 2
	if len(buf) < end || buf[i] != '\r' || buf[i+1] != '\n' || end > d.limits.Line {
		return f
	}
	if buf[0] == ':' {
		return atHand{kind: ':', n: n, size: end}
	}
	if n > int64(min(d.limits.Bulk, len(buf))) { // size would overflow a 32-bit int
		return f
	}
	size := end + int(n) + 2
	if len(buf) < size || buf[size-2] != '\r' || buf[size-1] != '\n' {
		return f
	}
	return atHand{kind: '$', n: n, body: end, size: size}
}

// atHandDigits is the index after the last digit of the longest number that can't overflow.
const atHandDigits = 19

// consume marks what was decoded in the buffer as read.
func (d *Decoder) consume(size int) {
	d.size += size
	_, _ = d.r.Discard(size)
}

// valueAtHand decodes the next value if it is at hand.
func (d *Decoder) valueAtHand() (res any, ok bool) {
	buf, _ := d.r.Peek(d.r.Buffered())
	f := d.atHand(buf)
	if f.size == 0 {
		return nil, false
	}
	return d.take(buf, f), true
}

// DecodeAtHand decodes the next reply if it is a simple one (OK, a string or a number), has arrived
// as a whole, and no other byte has arrived. Otherwise it does nothing.
func (d *Decoder) DecodeAtHand() (res any, ok bool) {
	buf, _ := d.r.Peek(d.r.Buffered())
	f := d.atHand(buf)
	if f.size == 0 || f.size < len(buf) {
		return nil, false
	}
	d.size = 0
	return d.take(buf, f), true
}

// take decodes and consumes the value that is at hand at the start of buf.
func (d *Decoder) take(buf []byte, f atHand) (res any) {
	switch {
	case f.kind == '+':
		res = resultOK
	case f.kind == ':':
		res = f.n
	case f.n == 0:
		res = resultEmpty
	default:
		res = owned(buf[f.body:][:f.n])
	}
	d.consume(f.size)
	return res
}

// owned returns a copy of a string in the buffer, without spare capacity.
func owned(text []byte) []byte {
	own := make([]byte, len(text))
	copy(own, text)
	return own
}

// AwaitMore waits until more bytes have come. It consumes nothing. After a temporary error, such as
// a time-out, it may be called again.
func (d *Decoder) AwaitMore() error {
	_, err := d.r.Peek(d.r.Buffered() + 1)
	return err
}

// Full reports whether the buffer is full. Then AwaitMore can't read any more.
func (d *Decoder) Full() bool { return d.r.Buffered() == d.r.Size() }

// Complete reports whether the whole next reply, with the pushes before it, is in the
// buffer, so that Decode will not wait.
func (d *Decoder) Complete() bool {
	buf, _ := d.r.Peek(d.r.Buffered())
	for {
		size := d.measure(buf, 0)
		if size <= 0 || buf[0] != '>' && buf[0] != '|' {
			return size != 0
		}
		buf = buf[size:]
	}
}

// malformed is the result of measure for a malformed value: no more bytes are needed to decode it.
const malformed = -1

// measure returns the size of the value at the start of buf that is nested depth deep, or 0 if the
// value is not complete.
func (d *Decoder) measure(buf []byte, depth int) (size int) {
	if size = d.atHand(buf).size; size > 0 {
		return size
	}
	if size = bytes.IndexByte(buf, '\n') + 1; size == 0 {
		return 0
	}
	if !ended(buf[:size]) {
		return malformed
	}
	h, err := d.header(buf[:size-len(crlf)], depth)
	if err != nil {
		return malformed
	}
	switch h.form {
	case ofText:
		if h.n > len(buf)-size-2 {
			return 0
		}
		size += h.n + 2
	case ofElements:
		for h.n > 0 {
			n := d.measure(buf[size:], depth+1)
			if n <= 0 {
				return n
			}
			if buf[size] != '|' { // an attribute is not an element
				h.n--
			}
			size += n
		}
	}
	return size
}

// ReplyDecoder is a future that decodes its reply itself and is then resolved with the result.
// Users' futures can't be one: users can't set send.Request.Typed.
type ReplyDecoder interface {
	// DecodeReply reads one reply. An error ends the connection.
	DecodeReply(d *Decoder, n uint64) (any, error)
}
