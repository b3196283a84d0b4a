package rediscluster

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/joomcode/redispipe/internal/oplog"
	"github.com/joomcode/redispipe/redisconn"
)

// NewSlogLogger returns a Logger that writes events to l, those of the connections
// included; a nil l is silent. See redisconn.NewSlogLogger for levels and limits.
func NewSlogLogger(l *slog.Logger) Logger {
	return slogLogger{oplog.New(l), redisconn.NewSlogLogger(l)}
}

// slogLogger is a Logger that writes to a slog.Logger.
type slogLogger struct {
	log   *oplog.Log
	conns redisconn.Logger
}

// Report implements Logger.
func (s slogLogger) Report(cluster *Cluster, event LogEvent) {
	write := func(level slog.Level, message string, attrs ...slog.Attr) {
		attrs = append([]slog.Attr{slog.String("cluster", cluster.Name())}, attrs...)
		s.log.Write(context.WithoutCancel(cluster.Ctx()), level, message, attrs...)
	}
	switch e := event.(type) {
	case LogOptCorrected:
		write(slog.LevelWarn, "redis option corrected", slog.String("option", e.Option), slog.String("used", fmt.Sprint(e.Used)))
	case LogHostEvent:
		s.conns.Report(e.Conn, e.Event)
	case LogClusterSlotsError:
		write(slog.LevelWarn, "redis node does not tell the slots", slog.String("address", e.Conn.Addr()), slog.Any("error", e.Error))
	case LogSlotRangeError:
		write(slog.LevelError, "redis cluster: no node tells the slots")
	case LogInitialNodeSkipped:
		write(slog.LevelWarn, "redis cluster: address skipped", slog.String("address", e.Address), slog.Any("error", e.Error))
	case LogContextClosed:
		write(slog.LevelInfo, "redis cluster closed", slog.Any("error", e.Error))
	case LogFuturePanic:
		// What it panicked with may hold anything of the user's.
		write(slog.LevelError, "redis future panicked", slog.String("type", fmt.Sprintf("%T", e.Value)), slog.String("stack", string(e.Stack)))
	case LogTopologyChanged:
		write(slog.LevelInfo, "redis topology changed", slog.Any("masters", e.Masters))
	}
}

// ReqStat implements Logger.
func (slogLogger) ReqStat(*Cluster, *redisconn.Connection, Request, any, int64, int64, int64) {}

// WantsReqStat tells that statistics are not collected.
func (slogLogger) WantsReqStat() bool { return false }
