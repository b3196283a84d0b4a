package redispubsub

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/joomcode/redispipe/internal/oplog"
)

// NewSlogLogger returns a Logger that writes events to l; a nil l is silent. See
// redisconn.NewSlogLogger for levels and limits.
func NewSlogLogger(l *slog.Logger) Logger { return slogLogger{oplog.New(l)} }

// slogLogger is a Logger that writes to a slog.Logger.
type slogLogger struct{ log *oplog.Log }

// Report implements Logger.
func (l slogLogger) Report(s *Subscriber, event LogEvent) {
	write := func(level slog.Level, message string, attrs ...slog.Attr) {
		l.log.Write(context.WithoutCancel(s.ctx), level, message, attrs...)
	}
	switch e := event.(type) {
	case LogConnected:
		write(slog.LevelInfo, "redis subscriber connected", slog.String("address", e.Addr))
	case LogConnectFailed:
		write(slog.LevelWarn, "redis subscriber failed to connect", slog.String("address", e.Addr), slog.Any("error", e.Error))
	case LogDisconnected:
		write(slog.LevelWarn, "redis subscriber disconnected", slog.String("address", e.Addr), slog.Any("error", e.Error))
	case LogPanic:
		// What it panicked with may hold anything of the user's.
		write(slog.LevelError, "redis logger panicked", slog.String("type", fmt.Sprintf("%T", e.Value)), slog.String("stack", string(e.Stack)))
	}
}
