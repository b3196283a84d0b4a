package redisconn

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/joomcode/redispipe/internal/oplog"
	"github.com/joomcode/redispipe/redis"
)

// NewSlogLogger returns a Logger that writes events to l, in a group "redis"; with a
// nil l it is silent. An operator need not act on debug and info; a warning may pass by
// itself; an error will not. Messages are constant, and lines show neither arguments
// nor secrets. Of each message it writes ten lines at once and then one a second, which
// says how many were left out ("suppressed"). Connections that share a Logger share
// this limit.
func NewSlogLogger(l *slog.Logger) Logger { return slogLogger{oplog.New(l)} }

// slogLogger is a Logger that writes to a slog.Logger.
type slogLogger struct{ log *oplog.Log }

// Report implements Logger.
func (s slogLogger) Report(conn *Connection, event LogEvent) {
	write := func(level slog.Level, message string, attrs ...slog.Attr) {
		attrs = append([]slog.Attr{slog.String("address", conn.Addr())}, attrs...)
		s.log.Write(context.WithoutCancel(conn.Ctx()), level, message, attrs...)
	}
	switch e := event.(type) {
	case LogOptCorrected:
		write(slog.LevelWarn, "redis option corrected", slog.String("option", e.Option), slog.String("used", fmt.Sprint(e.Used)))
	case LogConnecting:
		write(slog.LevelDebug, "redis connecting")
	case LogConnected:
		write(slog.LevelInfo, "redis connected", slog.String("local", e.LocalAddr), slog.String("peer", e.RemoteAddr))
	case LogConnectFailed:
		write(failedLevel(e.Error), "redis connecting failed", slog.Any("error", e.Error))
	case LogDisconnected:
		write(slog.LevelWarn, "redis connection lost", slog.String("local", e.LocalAddr), slog.String("peer", e.RemoteAddr), slog.Any("error", e.Error))
	case LogAuthFailed:
		write(slog.LevelError, "redis authenticating again failed", slog.Any("error", e.Error))
	case LogContextClosed:
		write(slog.LevelInfo, "redis connection closed", slog.Any("error", e.Error))
	case LogDedicatedConnected:
		write(slog.LevelDebug, "redis dedicated connection connected",
			slog.String("local", e.LocalAddr), slog.String("peer", e.RemoteAddr), slog.Int("open", e.Open), slog.Int("more", e.More))
	case LogDedicatedDisconnected:
		write(slog.LevelWarn, "redis dedicated connection lost",
			slog.String("local", e.LocalAddr), slog.String("peer", e.RemoteAddr), slog.Int("more", e.More), slog.Any("error", e.Error))
	case LogDedicatedFailed:
		write(failedLevel(e.Error), "redis dedicated connection failed", slog.Int("more", e.More), slog.Any("error", e.Error))
	case LogNotUnblocked:
		write(slog.LevelWarn, "redis blocking command can't be unblocked", slog.Any("error", e.Error))
	case LogSessionLeaked:
		write(slog.LevelWarn, "redis session was never closed", slog.String("opened", e.Opened))
	case LogFuturePanic:
		// What it panicked with may hold anything of the user's.
		write(slog.LevelError, "redis future panicked", slog.String("type", fmt.Sprintf("%T", e.Value)), slog.String("stack", string(e.Stack)))
	}
}

// failedLevel is the level of a failure to connect.
func failedLevel(err error) slog.Level {
	if failure := redis.AsErrorx(err); failure != nil && failure.HasTrait(ErrTraitInitPermanent) {
		return slog.LevelError
	}
	return slog.LevelWarn
}

// ReqStat implements Logger.
func (slogLogger) ReqStat(*Connection, Request, any, int64, int64, int64) {}

// WantsReqStat tells that statistics are not collected.
func (slogLogger) WantsReqStat() bool { return false }
