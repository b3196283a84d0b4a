package redisconn

import (
	"io"
	"slices"

	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/internal/resp"
	"github.com/joomcode/redispipe/redis"
)

// streamChunk is how many bytes of a Stream are held in memory, at most.
const streamChunk = 64 << 10

// writeStreamed writes the request to w and reads arguments of type [redis.Stream] as it goes. If the
// command or an argument can't be sent, it writes nothing.
func writeStreamed(w io.Writer, req redis.Request) error {
	others := slices.Clone(req.Args)
	for i, arg := range others {
		if stream, ok := arg.(redis.Stream); ok && stream.R != nil && stream.Size >= 0 {
			others[i] = nil
		}
	}
	if err := redis.CheckRequest(redis.Request{Cmd: req.Cmd, Args: others}, true); err != nil {
		return err
	}
	req.Args = command.WithDurations(req.Cmd, req.Args)
	// The request is encoded with empty arguments. These are then cut off, so that its header and
	// name remain.
	const empty = "$0\r\n\r\n"
	buf, _ := resp.AppendCommand(nil, req.Cmd, make([]any, len(req.Args)))
	buf = buf[:len(buf)-len(req.Args)*len(empty)]
	for _, arg := range req.Args {
		if stream, ok := arg.(redis.Stream); ok {
			if err := writeStream(w, stream, buf); err != nil {
				return err
			}
			buf = buf[:0]
			continue
		}
		buf, _ = resp.AppendArg(buf, arg)
	}
	_, err := w.Write(buf)
	return err
}

// writeStream writes before and then the stream, as a bulk string.
func writeStream(w io.Writer, s redis.Stream, before []byte) error {
	before = resp.AppendLength(append(before, '$'), s.Size)
	if _, err := w.Write(before); err != nil {
		return err
	}
	n, err := io.CopyBuffer(onlyWriter{w}, io.LimitReader(s.R, s.Size), make([]byte, max(1, min(streamChunk, s.Size))))
	switch {
	case err != nil:
		return err
	case n < s.Size:
		return redis.ErrIO.Wrap(io.ErrUnexpectedEOF, "a stream of %d bytes ended after %d", s.Size, n)
	}
	_, err = w.Write([]byte("\r\n"))
	return err
}

// onlyWriter hides the ReadFrom method of a writer, so that io.CopyBuffer uses its buffer.
type onlyWriter struct{ io.Writer }
