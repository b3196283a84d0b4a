package redisconn

import (
	"context"
	"log/slog"

	"github.com/joomcode/redispipe/internal/oplog"
)

// NewSlogLogger returns a Logger that writes events to l, in a group "redis"; with a nil
// l it is silent. The levels debug and info need no action; a warning may pass by itself;
// an error will not. Messages are constant, and lines show neither arguments nor secrets.
// Of each message it writes ten lines at once and then one a second, which says how many
// were left out ("suppressed"). Connections that share a Logger share this limit.
func NewSlogLogger(l *slog.Logger) Logger { return slogLogger{oplog.New(l)} }

// slogLogger is a Logger that writes to a slog.Logger.
type slogLogger struct{ log *oplog.Log }

// Report implements Logger.
func (s slogLogger) Report(conn *Connection, event LogEvent) {
	s.log.WriteLine(context.WithoutCancel(conn.Ctx()), event.logEvent(), slog.String("address", conn.Addr()))
}

// ReqStat implements Logger.
func (slogLogger) ReqStat(*Connection, Request, any, int64, int64, int64) {}

// WantsReqStat returns false: no statistics are collected.
func (slogLogger) WantsReqStat() bool { return false }
