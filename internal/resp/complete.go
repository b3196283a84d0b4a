package resp

import "bytes"

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
