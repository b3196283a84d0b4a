package redis

import (
	"context"
	"log/slog"
	"time"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/oplog"
)

// NewSlowLog returns a [Hook] that logs operations that failed or took longer than the threshold:
// the command's name, the number of requests, the duration, the outcome, the address, and the error
// with its [Delay]. It shows no argument. It writes the first ten lines of each kind at once and
// then one a second, with the number of lines left out ("suppressed"). With a threshold of 0 it
// logs only failures; with a nil l it logs nothing. A command that may block (see [Blocking]) never
// counts as slow. If a [GroupReader] finds no group (NOGROUP) and creates it, that does not count
// as a failure, unless the group was destroyed.
func NewSlowLog(l *slog.Logger, threshold time.Duration) Hook {
	return slowLog{oplog.New(l), threshold}
}

type slowLog struct {
	log       *oplog.Log
	threshold time.Duration
}

// noGroup is the code of a server's error for a group or stream that does not exist.
const noGroup = "NOGROUP"

// groupExpected is the key of a context with which a GroupReader reads from a group that it may
// have to create first.
type groupExpected struct{}

// Before implements Hook.
func (s slowLog) Before(ctx context.Context, _ Operation) context.Context { return ctx }

// After implements Hook.
func (s slowLog) After(ctx context.Context, op Operation, end Completion) {
	level, message := slog.LevelInfo, "redis operation slow"
	switch {
	case ctx.Value(groupExpected{}) != nil && errs.Says(end.Err, noGroup):
		return
	case end.Outcome != OutcomeValue:
		level, message = slog.LevelWarn, "redis operation failed"
	case s.threshold <= 0 || end.Duration < s.threshold || Blocking(op.Command):
		return
	}
	attrs := []slog.Attr{
		slog.String("command", op.Command),
		slog.Int("requests", op.Requests),
		slog.Duration("duration", end.Duration),
		slog.String("outcome", end.Outcome.String()),
		slog.String("address", end.Address),
	}
	if end.Err != nil {
		attrs = append(attrs, slog.Any("error", end.Err))
	}
	s.log.Write(context.WithoutCancel(ctx), level, message, attrs...)
}
