package redisconn

import (
	"context"
	"io"
	"slices"

	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/sock"
	"github.com/joomcode/redispipe/internal/timing"
	"github.com/joomcode/redispipe/redis"
)

// DoStream sends one request on a separate socket, so that a large value delays no other request.
// Arguments may be of type [redis.Stream]. If w is not nil and the reply is a bulk string, DoStream
// writes it to w as it arrives, and returns its length in bytes (int64). Otherwise it returns the
// same result as for an ordinary request.
//
// It needs at most a few times 64 KiB of memory. It fails if the socket sends or receives less than
// 64 KiB of a larger value within IOTimeout, plus the timeout of a blocking command. The user's
// reader and writer may take any time. Each request dials, which takes some round trips: use
// DoStream for large values.
//
// If connecting fails, the error has [redis.ErrTraitNotSent]: a retry is safe. A request of which
// only a part was written did not run. Its error is [redis.ErrIO] nevertheless, which also means
// that a request may have run.
func (c *Connection) DoStream(ctx context.Context, w io.Writer, cmd string, args ...any) any {
	if ctx == nil {
		return errs.NilContext()
	}
	if !c.opened() {
		return errs.NoSender()
	}
	req := redis.Request{Cmd: cmd, Args: args}
	plain := redis.Request{Cmd: cmd, Args: plainArgs(args)}
	if err := redis.CheckRequest(plain, true); err != nil {
		return err
	}
	res := c.doStream(ctx, w, req, plain)
	if err := redis.AsErrorx(res); err != nil {
		return err.WithProperty(redis.EKRequest, req)
	}
	return res
}

// doStream is DoStream for a valid request. plain is req without its streams. The errors that it
// returns don't name the request.
func (c *Connection) doStream(ctx context.Context, w io.Writer, req, plain redis.Request) any {
	if c.ctx.Err() != nil || !c.streams.Begin() {
		return c.errClosed()
	}
	defer c.streams.End()
	calls := new(timing.Callbacks)
	t := timing.Open(calls)
	greeted, failure := c.dialer.Open(ctx)
	if failure != nil {
		return c.withConn(failure)
	}
	defer greeted.Close()
	// The socket is closed when ctx or the connection's context ends.
	defer context.AfterFunc(ctx, func() { _ = greeted.Close() })()
	defer context.AfterFunc(c.ctx, func() { _ = greeted.Close() })()

	call := command.Of(plain.Cmd, plain.Args)
	greeted.Allow(c.opts.IOTimeout, call.BlockTime())
	res, err := stream(greeted.Socket, t, calls, w, req)
	if err == nil {
		if refused := redis.AsErrorx(res); refused != nil {
			return c.withConn(refused)
		}
		return res
	}
	if ctx.Err() != nil {
		return t.Explain(redis.ErrRequestCancelled.Wrap(ctx.Err(), "streaming, it may have been sent"))
	}
	typed := redis.AsErrorx(err)
	if !typed.IsOfType(redis.ErrIO) && !typed.HasTrait(redis.ErrTraitNotSent) {
		typed = redis.ErrIO.Wrap(err, "streaming")
	}
	return t.Explain(c.withConn(typed))
}

func stream(s *sock.Socket, t *timing.Stages, calls *timing.Callbacks, w io.Writer, req redis.Request) (any, error) {
	t.NoteWrite()
	req.Args = slices.Clone(req.Args)
	for i, arg := range req.Args {
		if stream, ok := arg.(redis.Stream); ok && stream.R != nil {
			stream.R = timed(stream.R.Read, calls)
			req.Args[i] = stream
		}
	}
	if err := writeStreamed(s, req); err != nil {
		return nil, err
	}
	if err := t.AwaitFirstByte(s.Dec); err != nil {
		return nil, err
	}
	if w == nil {
		return s.Dec.Decode()
	}
	return s.Dec.DecodeTo(timed(w.Write, calls))
}

// transfer is the Read method of a user's reader, or the Write method of a user's writer.
type transfer func(p []byte) (int, error)

// timed returns a transfer that calls f and measures the time of the call.
func timed(f transfer, calls *timing.Callbacks) transfer {
	return func(p []byte) (int, error) {
		calls.Start()
		defer calls.Stop()
		return f(p)
	}
}

func (f transfer) Read(p []byte) (int, error)  { return f(p) }
func (f transfer) Write(p []byte) (int, error) { return f(p) }

// plainArgs returns args with an empty argument in place of each stream.
func plainArgs(args []any) []any {
	plain := make([]any, len(args))
	for i, arg := range args {
		if _, ok := arg.(redis.Stream); !ok {
			plain[i] = arg
		}
	}
	return plain
}
