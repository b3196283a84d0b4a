package redis

import (
	"io"

	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/internal/resp"
)

// Stream is an argument that is read while it is sent, for values that should not be
// held in memory. Only methods that say so accept it.
type Stream struct {
	// R has to deliver Size bytes; what follows them is not read.
	R io.Reader
	// Size is the argument's length in bytes.
	Size int64
}

// streamChunk is the most of a Stream, in bytes, that is held in memory.
const streamChunk = 64 << 10

// StreamRequest writes the request to w, reading arguments of type [Stream] as it goes.
// It returns how many bytes were written. If an argument has a type that can't be sent,
// it writes nothing.
func StreamRequest(w io.Writer, req Request) (written int64, err error) {
	for i, arg := range req.Args {
		if stream, ok := arg.(Stream); ok && stream.R != nil && stream.Size >= 0 {
			continue
		}
		if !command.IsArg(arg) {
			return 0, errArgument(req.Cmd, i, arg)
		}
	}
	// Of a request with as many empty arguments, all but those is kept.
	const empty = "$0\r\n\r\n"
	buf, _ := resp.AppendCommand(nil, req.Cmd, make([]any, len(req.Args)))
	buf = buf[:len(buf)-len(req.Args)*len(empty)]
	out := &countingWriter{w: w}
	for _, arg := range req.Args {
		if stream, ok := arg.(Stream); ok {
			if err := stream.writeTo(out, buf); err != nil {
				return out.n, err
			}
			buf = buf[:0]
			continue
		}
		buf, _ = resp.AppendArg(buf, arg)
	}
	_, err = out.Write(buf)
	return out.n, err
}

// writeTo writes what comes before the stream, and the stream as a bulk string.
func (s Stream) writeTo(w io.Writer, before []byte) error {
	before = resp.AppendLength(append(before, '$'), s.Size)
	if _, err := w.Write(before); err != nil {
		return err
	}
	n, err := io.CopyBuffer(onlyWriter{w}, io.LimitReader(s.R, s.Size), make([]byte, max(1, min(streamChunk, s.Size))))
	switch {
	case err != nil:
		return err
	case n < s.Size:
		return ErrIO.Wrap(io.ErrUnexpectedEOF, "a stream of %d bytes ended after %d", s.Size, n)
	}
	_, err = w.Write([]byte("\r\n"))
	return err
}

// onlyWriter hides a ReadFrom, so that io.CopyBuffer uses its buffer.
type onlyWriter struct{ io.Writer }

type countingWriter struct {
	w io.Writer
	n int64
}

func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}
