package redisconn

import (
	"context"
	"io"

	"github.com/joomcode/redispipe/redis"
)

// DoStream sends one request with a socket of its own, so that a large value
// keeps nobody waiting: arguments may be of type redis.Stream, and a reply that
// is a bulk string is written to w, if that is not nil, while it arrives. The
// result then is its length (int64), else that of any other request.
//
// Memory is bounded by a few times 64 KiB. Each read and write of the socket
// has to come to something within IOTimeout, to which a blocking command adds its
// own timeout; the reader and the writer that are given may take their time. Dialing
// for each request costs some round trips: use it for values that are large in
// comparison.
//
// An error of connecting has ErrTraitNotSent. A request of which not all was
// written did not run, but since some of it may have been, its error is ErrIO.
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
	sock, failure := c.open(ctx)
	if failure != nil {
		return c.withConn(failure)
	}
	defer sock.Close()
	// Whichever of the contexts ends first ends the exchange.
	defer context.AfterFunc(ctx, func() { _ = sock.Close() })()
	defer context.AfterFunc(c.ctx, func() { _ = sock.Close() })()

	sock.timeout, sock.blocks = c.opts.IOTimeout, blockTime(cmd, plainArgs(args))
	res, err := sock.stream(w, req)
	if err == nil {
		return res
	}
	if ctx.Err() != nil {
		return redis.ErrRequestCancelled.Wrap(ctx.Err(), "streaming, it may have been sent")
	}
	typed := redis.AsErrorx(err)
	if !typed.IsOfType(redis.ErrIO) && !typed.HasTrait(redis.ErrTraitNotSent) {
		typed = redis.ErrIO.Wrap(err, "streaming")
	}
	return c.withConn(typed)
}

func (s *socket) stream(w io.Writer, req redis.Request) (any, error) {
	if _, err := redis.StreamRequest(s, req); err != nil {
		return nil, err
	}
	if w == nil {
		return s.dec.Decode()
	}
	return s.dec.DecodeTo(w)
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
