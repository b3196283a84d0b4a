package redis

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
	if d.atHand(buf).size > 0 {
		return true
	}
	for {
		size, complete := frameSize(buf, d.limits.Depth)
		if !complete {
			return false
		}
		if kind := buf[0]; kind != '>' && kind != '|' {
			return true
		}
		buf = buf[size:]
	}
}

// frameSize returns how many bytes the frame at the start of buf takes, if it
// is complete. What is malformed counts as complete as far as its first line:
// decoding it needs no more.
func frameSize(buf []byte, depth int) (size int, complete bool) {
	end := bytes.IndexByte(buf, '\n') + 1
	if end == 0 {
		return 0, false
	}
	switch buf[0] {
	case '$', '=', '!', '*', '~', '%', '>', '|':
	default:
		return end, true
	}
	n, ok := int64(0), false
	if end > 2 && buf[end-2] == '\r' {
		n, ok = parseInt(buf[1 : end-2])
	}
	if !ok || n < 0 {
		return end, true
	}
	switch buf[0] {
	case '$', '=', '!':
		return end + int(n) + 2, n <= int64(len(buf)-end-2)
	case '%', '|':
		n *= 2
	}
	if depth == 0 {
		return end, true
	}
	for ; n > 0; n-- {
		size, complete := frameSize(buf[end:], depth-1)
		if !complete {
			return 0, false
		}
		if buf[end] == '|' { // an attribute is not an element
			n++
		}
		end += size
	}
	return end, true
}
