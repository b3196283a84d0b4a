package chaos

import (
	"bytes"
	"strconv"
)

// proxyMaxLine bounds a header line; a longer one is not RESP.
const proxyMaxLine = 1 << 20

// proxyFramer finds the ends of RESP2 and RESP3 messages without storing them. Nesting needs no
// stack, because the framer counts the elements that are still to come. After input that is not
// RESP, it finds no more ends.
type proxyFramer struct {
	begun  bool   // within a message
	broken bool   // the input was not RESP
	push   bool   // the message is a push or an invalidation, which answers no request
	left   int64  // elements still to come
	body   int64  // bytes of a string and its CRLF still to come
	line   []byte // the header line so far
}

// boundary reports whether the next byte begins a message.
func (f *proxyFramer) boundary() bool { return !f.begun && !f.broken }

// feed consumes bytes up to the end of the current message. n is how many. done is set if the
// message ends with them.
func (f *proxyFramer) feed(b []byte) (n int, done bool) {
	for n < len(b) && !f.broken {
		if !f.begun {
			f.begun, f.left, f.push = true, 1, b[n] == '>'
		}
		if f.body > 0 {
			k := min(f.body, int64(len(b)-n))
			f.body -= k
			n += int(k)
		} else {
			n += f.feedLine(b[n:])
		}
		if f.broken {
			break
		}
		if f.body == 0 && f.left == 0 && len(f.line) == 0 {
			f.begun = false
			return n, true
		}
	}
	return len(b), false
}

// feedLine consumes bytes up to the end of a header line, and counts the elements that the line
// announces.
func (f *proxyFramer) feedLine(b []byte) int {
	end := bytes.IndexByte(b, '\n')
	if end < 0 {
		f.line = append(f.line, b...)
		f.broken = len(f.line) > proxyMaxLine
		return len(b)
	}
	f.line = append(f.line, b[:end+1]...)
	f.broken = len(f.line) > proxyMaxLine
	f.announce(bytes.TrimRight(f.line, "\r\n"))
	f.line = f.line[:0]
	return end + 1
}

func (f *proxyFramer) announce(line []byte) {
	if len(line) == 0 {
		f.left-- // an empty inline command
		return
	}
	switch line[0] {
	case '$', '=', '!':
		f.left--
		if n := f.length(line); n >= 0 {
			f.body = n + 2
		}
	case '*', '~', '>':
		f.left += max(f.length(line), 0) - 1
	case '%':
		f.left += 2*max(f.length(line), 0) - 1
	case '|': // attributes precede their reply
		f.left += 2 * max(f.length(line), 0)
	default: // one line: simple types and inline commands
		f.left--
	}
}

func (f *proxyFramer) length(line []byte) int64 {
	n, err := strconv.ParseInt(string(line[1:]), 10, 64)
	if err != nil || n > 1<<40 {
		f.broken = true
		return 0
	}
	return n
}
