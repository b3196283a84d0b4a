package redispubsub

import (
	"context"
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
	l.log.WriteLine(context.WithoutCancel(s.ctx), event.logEvent())
}
