package redis

import (
	"context"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/values"
)

// CollectTrace makes Sync and SyncCtx add the caller's stack trace to errors, which takes
// some microseconds for each error. Set it before the first request. Default false.
var CollectTrace = false

// traced adds the caller's stack trace to errors, if that is asked for.
func traced(res any) any {
	if err, ok := res.(error); ok && CollectTrace {
		return errorx.EnsureStackTrace(errs.Plain(err))
	}
	return res
}

// withRequest adds the request to an error that does not name one.
func withRequest(err error, cmd string, args []any) error {
	typed := errorx.Cast(errs.Plain(err))
	if typed == nil {
		return err
	}
	if _, named := typed.Property(errs.EKRequest); named {
		return typed
	}
	return typed.WithProperty(errs.EKRequest, Request{Cmd: cmd, Args: values.CloneArgs(args)})
}

// ofRequest adds the request to an error. Its reply did not come, or could not be read.
func ofRequest(err error, cmd string, args []any) error {
	if err == nil {
		return nil
	}
	return errs.Err(traced(withRequest(err, cmd, args)))
}

// withdrawn is the result of a request that was taken back unsent.
func withdrawn(ctx context.Context) *errorx.Error {
	return errs.ErrRequestWithdrawn.Wrap(ctx.Err(), "withdrawn before it was sent")
}
