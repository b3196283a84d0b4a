package redisconn

import (
	"context"
	"io"
	"slices"

	"github.com/joomcode/redispipe/redis"
)

// DoStream sends one request on a socket of its own, so that a large value delays no
// other request. Arguments may be of type [redis.Stream]. If w is not nil and the reply
// is a bulk string, it is written to w as it arrives, and the result is its length
// (int64). Any other result is that of an ordinary request.
//
// Memory is bounded by a few times 64 KiB. Each read and write of the socket has to
// make progress within IOTimeout, to which the timeout of a blocking command is added;
// the user's reader and writer may take any time. Each request dials, which costs some
// round trips: use it for large values.
//
// An error of connecting has [redis.ErrTraitNotSent]. If only a part of the request was
// written, it did not run, but the error is [redis.ErrIO].
func (c *Connection) DoStream(ctx context.Context, w io.Writer, cmd string, args ...any) any {
	if ctx == nil {
		return redis.ErrContextIsNil.New("context is nil")
	}
	req := redis.Request{Cmd: cmd, Args: args}
	if err := redis.CheckRequest(redis.Request{Cmd: cmd, Args: plainArgs(args)}, true); err != nil {
		return err
	}
	if c.ctx.Err() != nil {
		return errClosed()
	}
	t := timing{opened: clock(), calls: new(callbackClock)}
	sock, failure := c.open(ctx)
	if failure != nil {
		return c.withConn(failure)
	}
	defer sock.Close()
	// Whichever of the contexts ends first ends the exchange.
	defer context.AfterFunc(ctx, func() { _ = sock.Close() })()
	defer context.AfterFunc(c.ctx, func() { _ = sock.Close() })()

	sock.timeout, sock.blocks = c.opts.IOTimeout, blockTime(cmd, plainArgs(args))
	res, err := sock.stream(&t, w, req)
	if err == nil {
		return res
	}
	if ctx.Err() != nil {
		return t.explain(redis.ErrRequestCancelled.Wrap(ctx.Err(), "streaming, it may have been sent"))
	}
	typed := redis.AsErrorx(err)
	if !typed.IsOfType(redis.ErrIO) && !typed.HasTrait(redis.ErrTraitNotSent) {
		typed = redis.ErrIO.Wrap(err, "streaming")
	}
	return t.explain(c.withConn(typed))
}

func (s *socket) stream(t *timing, w io.Writer, req redis.Request) (any, error) {
	t.noteWrite()
	req.Args = slices.Clone(req.Args)
	for i, arg := range req.Args {
		if stream, ok := arg.(redis.Stream); ok && stream.R != nil {
			stream.R = timedReader{stream.R, t.calls}
			req.Args[i] = stream
		}
	}
	if _, err := redis.StreamRequest(s, req); err != nil {
		return nil, err
	}
	if err := t.awaitFirstByte(s.dec); err != nil {
		return nil, err
	}
	if w == nil {
		return s.dec.Decode()
	}
	return s.dec.DecodeTo(timedWriter{w, t.calls})
}

// timedReader is a reader of the user's, whose time is measured.
type timedReader struct {
	io.Reader
	calls *callbackClock
}

func (r timedReader) Read(p []byte) (int, error) {
	r.calls.start()
	defer r.calls.stop()
	return r.Reader.Read(p)
}

// timedWriter is a writer of the user's, whose time is measured.
type timedWriter struct {
	io.Writer
	calls *callbackClock
}

func (w timedWriter) Write(p []byte) (int, error) {
	w.calls.start()
	defer w.calls.stop()
	return w.Writer.Write(p)
}

// plainArgs has empty arguments in the place of streams.
func plainArgs(args []any) []any {
	plain := make([]any, len(args))
	for i, arg := range args {
		if _, ok := arg.(redis.Stream); !ok {
			plain[i] = arg
		}
	}
	return plain
}
