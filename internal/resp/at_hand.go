package resp

// Results that come often are boxed once.
var (
	resultOK     any = "OK"
	resultQueued any = "QUEUED"
	resultPong   any = "PONG"
	resultEmpty  any = []byte{}
	resultNone   any = []any{}
)

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
	size := end + int(n) + 2
	if n > int64(d.limits.Bulk) || len(buf) < size || buf[size-2] != '\r' || buf[size-1] != '\n' {
		return f
	}
	return atHand{kind: '$', n: n, body: end, size: size}
}

// atHandDigits is the index behind the last digit of a number that can't overflow.
const atHandDigits = 19

// valueAtHand decodes the next reply if it is at hand.
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
		res = owned(buf[f.body:][:f.n], true)
	}
	d.size = f.size
	_, _ = d.r.Discard(f.size)
	return res, true
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
	d.size = f.size
	_, _ = d.r.Discard(f.size)
	return true
}
