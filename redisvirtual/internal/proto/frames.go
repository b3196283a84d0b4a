package proto

import (
	"bytes"
	"strings"
)

// Frames counts the complete replies, or the complete requests, in a stream, without storing them. Pushes
// and messages count as replies. Requests without words do not count, because servers do not answer them.
type Frames struct {
	Requests bool // the stream has requests

	values int64 // values still missing in the current frame, at any depth
	skip   int64 // bytes that are missing in the current string
	kind   byte  // the type byte of the current line, or 0 between lines
	length int64 // the length in the current line
	null   bool  // the length is negative
	lost   bool  // the stream is not RESP
}

// lengthMost bounds lengths, so that sums of them don't overflow.
const lengthMost = 1 << 40

// Count returns how many frames end in p, the next part of the stream. If the stream is not RESP, each part
// counts as one frame.
func (f *Frames) Count(p []byte) (ended int) {
	for len(p) > 0 && !f.lost {
		switch {
		case f.skip > 0:
			n := min(f.skip, int64(len(p)))
			p = p[n:]
			if f.skip -= n; f.skip == 0 {
				ended += f.value()
			}
		case f.kind == 0:
			if f.kind, f.length, f.null = p[0], 0, false; f.kind != '\n' {
				p = p[1:]
			}
		default:
			end := bytes.IndexByte(p, '\n')
			if end < 0 {
				f.part(p)
				return ended
			}
			f.part(p[:end])
			ended += f.line()
			p = p[end+1:]
		}
	}
	if f.lost {
		return 1
	}
	return ended
}

// Complete reports whether the stream is between two frames.
func (f *Frames) Complete() bool { return f.values == 0 && f.kind == 0 || f.lost }

// sized reports whether a line of this kind has a length.
func sized(kind byte) bool { return strings.IndexByte("*$%~>|=!", kind) >= 0 }

// part reads a part of a line.
func (f *Frames) part(p []byte) {
	if !sized(f.kind) {
		return
	}
	for _, b := range p {
		switch {
		case b == '\r':
		case b == '-':
			f.null = true
		case b < '0' || b > '9' || f.length > lengthMost:
			f.lost = true
		default:
			f.length = 10*f.length + int64(b-'0')
		}
	}
}

// line handles the end of a line, and returns 1 if a frame ends with it.
func (f *Frames) line() (ended int) {
	kind, n := f.kind, f.length
	f.kind = 0
	if f.values == 0 {
		if f.Requests && (kind == '\r' || kind == '\n' || kind == '*' && (n == 0 || f.null)) {
			return 0
		}
		f.values = 1
	}
	switch {
	case !sized(kind) || f.null:
		return f.value()
	case kind == '%':
		f.values += 2 * n
	case kind == '|': // attributes are no value: a value follows them
		f.values += 2 * n
		return 0
	case kind == '$' || kind == '=' || kind == '!':
		f.skip = n + int64(len("\r\n"))
		return 0
	default:
		f.values += n
	}
	return f.value()
}

// value handles the end of a value, and returns 1 if a frame ends with it.
func (f *Frames) value() (ended int) {
	if f.values--; f.values == 0 {
		ended = 1
	}
	return ended
}
