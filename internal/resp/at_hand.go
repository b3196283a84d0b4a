package resp

import "bytes"

// Most replies are OK, a string or a number, and have come as a whole when their turn
// comes. These are decoded where they lie, without going over them for a line, a length
// and a body in turn.

// atHand is where a reply that is at hand lies in the buffer. A size of 0 stands for none.
type atHand struct {
	kind       byte
	n          int64 // the number, or the length of the string
	body, size int
}

// atHand finds the reply at the start of buf, if it is all there and of such a kind.
// Whatever is malformed, or over a limit, is not at hand.
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
	if n > int64(min(d.limits.Bulk, len(buf))) { // else size might overflow where an int has 32 bits
		return f
	}
	size := end + int(n) + 2
	if len(buf) < size || buf[size-2] != '\r' || buf[size-1] != '\n' {
		return f
	}
	return atHand{kind: '$', n: n, body: end, size: size}
}

// atHandDigits is the index behind the last digit of a number that can't overflow.
const atHandDigits = 19

// consume is called for what was decoded in the buffer.
func (d *Decoder) consume(size int) {
	d.size += size
	_, _ = d.r.Discard(size)
}

// valueAtHand decodes the next value if it is at hand.
func (d *Decoder) valueAtHand() (res any, ok bool) {
	buf, _ := d.r.Peek(d.r.Buffered())
	f := d.atHand(buf)
	switch {
	case f.size == 0:
		return nil, false
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
	return res, true
}

// owned copies a string that lies in the buffer, without room for more.
func owned(text []byte) []byte {
	own := make([]byte, len(text))
	copy(own, text)
	return own
}

// scalarAtHand reads the next reply into s if it is at hand and of the kind.
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

// AwaitMore waits until more bytes have come. It consumes nothing, so it may be called
// again after an error that passes, such as a time-out.
func (d *Decoder) AwaitMore() error {
	_, err := d.r.Peek(d.r.Buffered() + 1)
	return err
}

// Full reports whether the buffer is full, so that AwaitMore can't do anything.
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

// malformed stands for the size of what is malformed: it takes no more bytes to decode that.
const malformed = -1

// measure returns the size of the value at the start of buf that is nested depth deep, or 0 if
// not all of it is there.
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
