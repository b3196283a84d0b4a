package rediscluster

import (
	"context"
	"fmt"
	"log"
	"log/slog"

	"github.com/joomcode/redispipe/internal/oplog"
	"github.com/joomcode/redispipe/redisconn"
)

// Logger gets the events of a cluster. Its methods may call the cluster; they
// should return quickly, because they run in goroutines of the cluster and its connections.
type Logger interface {
	// Report is called with each event.
	Report(cluster *Cluster, event LogEvent)
	// ReqStat is called by a connection for each answered request: see
	// redisconn.Logger. A request that is redirected is answered several times.
	// If a logger has a method WantsReqStat() bool, each connection calls it once, and
	// collects statistics only if it returns true.
	ReqStat(cluster *Cluster, conn *redisconn.Connection, req Request, res any, nanos, in, out int64)
}

// LogEvent is one of the Log… types.
type LogEvent interface {
	// logEvent returns the line that DefaultLogger and NewSlogLogger write.
	logEvent() oplog.Line
}

// LogOptCorrected: an option was out of its bounds, or is one that the cluster sets
// itself, and the cluster uses another value. It is reported before all other events, once for
// each such option.
type LogOptCorrected struct {
	Option      string // the field's name in Opts
	Given, Used any
}

// LogHostEvent: a connection reported an event.
type LogHostEvent struct {
	Conn  *redisconn.Connection
	Event redisconn.LogEvent
}

// LogClusterSlotsError: a node failed to return the slots.
type LogClusterSlotsError struct {
	Conn  *redisconn.Connection
	Error error
}

// LogSlotRangeError: no node returned the slots; the last known slots stay in use.
type LogSlotRangeError struct{}

// LogInitialNodeSkipped: a given address can't be used.
type LogInitialNodeSkipped struct {
	Address string
	Error   error
}

// LogSentinelFailed: a sentinel does not answer any more (reported once, until it answers
// again), or sentinels have started to disagree. The last known topology stays in use.
type LogSentinelFailed struct {
	Address string
	Error   error
}

// LogFollowsStrangers: none of the servers that the client knew is left, and the servers that answer
// are unrelated to them: they share no node ID, no sentinel, no history. The client switches to them.
// They may be the same service, set up again, or another service that now has its addresses. See
// Opts.RefuseStrangers.
type LogFollowsStrangers struct {
	// Masters are the addresses of the masters that the client follows.
	Masters []string
}

// LogContextClosed: the cluster was closed, by Close or because its context ended; Error says which.
// errors.Is finds context.Canceled in Error even after Close.
type LogContextClosed struct {
	Error error
}

// LogContextOutlived: the context of the constructor, which has a deadline, has ended. The
// cluster lives until Close, because a context with a deadline limits only the constructor.
type LogContextOutlived struct {
	Error error // why the context ended
}

// LogFuturePanic: a future or another of the user's functions, such as Logger.ReqStat or the
// WeightProvider, panicked. At most one request, or one refresh, is affected.
type LogFuturePanic struct {
	Value any    // the value of the panic
	Stack []byte // in the format of debug.Stack
}

// loggerPanic: Logger.Report panicked. The cluster reports this to the DefaultLogger instead.
type loggerPanic LogFuturePanic

// LogTopologyChanged: slots, nodes or roles have changed.
type LogTopologyChanged struct {
	// Masters are the addresses of the nodes that serve slots.
	Masters []string
}

func (e LogOptCorrected) logEvent() oplog.Line {
	return oplog.Text("option %s is %v instead of %v", e.Option, e.Used, e.Given).
		Slog(slog.LevelWarn, "redis option corrected", slog.String("option", e.Option), slog.String("used", fmt.Sprint(e.Used)))
}

// logEvent returns nothing, because redisconn writes the events of its connections.
func (LogHostEvent) logEvent() (l oplog.Line) { return l }

func (e LogClusterSlotsError) logEvent() oplog.Line {
	return oplog.Text("%s does not return the slots: %v", e.Conn.Addr(), e.Error).
		Slog(slog.LevelWarn, "redis node does not return the slots", slog.String("address", e.Conn.Addr()), slog.Any("error", e.Error))
}

func (LogSlotRangeError) logEvent() oplog.Line {
	return oplog.Text("no node returns the slots").Slog(slog.LevelError, "redis cluster: no node returns the slots")
}

func (e LogInitialNodeSkipped) logEvent() oplog.Line {
	return oplog.Text("%s is skipped: %v", e.Address, e.Error).
		Slog(slog.LevelWarn, "redis cluster: address skipped", slog.String("address", e.Address), slog.Any("error", e.Error))
}

func (e LogSentinelFailed) logEvent() oplog.Line {
	return oplog.Text("sentinel %s: %v", e.Address, e.Error).
		Slog(slog.LevelWarn, "redis sentinel failed", slog.String("address", e.Address), slog.Any("error", e.Error))
}

func (e LogFollowsStrangers) logEvent() oplog.Line {
	return oplog.Text("follows servers that it does not know, masters: %v", e.Masters).
		Slog(slog.LevelWarn, "redis cluster follows servers that it does not know", slog.Any("masters", e.Masters))
}

func (e LogContextClosed) logEvent() oplog.Line {
	return oplog.Text("closed: %v", e.Error).Slog(slog.LevelInfo, "redis cluster closed", slog.Any("error", e.Error))
}

func (e LogContextOutlived) logEvent() oplog.Line {
	return oplog.Text("outlives the context that it was created with (%v), which has a deadline: it lives until Close", e.Error).
		Slog(slog.LevelDebug, "redis cluster outlives the context that it was created with", slog.Any("error", e.Error))
}

func (e LogFuturePanic) logEvent() oplog.Line { return oplog.Panicked("callback", e.Value, e.Stack) }

func (e loggerPanic) logEvent() oplog.Line { return oplog.Panicked("logger", e.Value, e.Stack) }

func (e LogTopologyChanged) logEvent() oplog.Line {
	return oplog.Text("new topology, masters: %v", e.Masters).
		Slog(slog.LevelInfo, "redis topology changed", slog.Any("masters", e.Masters))
}

// DefaultLogger writes events with the standard logger. It ignores statistics.
type DefaultLogger struct{}

// Report implements Logger.
func (DefaultLogger) Report(cluster *Cluster, event LogEvent) {
	if e, ok := event.(LogHostEvent); ok {
		redisconn.DefaultLogger{}.Report(e.Conn, e.Event)
		return
	}
	log.Printf("redispipe: cluster %s: %s", cluster.Name(), event.logEvent().Text)
}

// ReqStat implements Logger.
func (DefaultLogger) ReqStat(*Cluster, *redisconn.Connection, Request, any, int64, int64, int64) {}

// NoopLogger ignores everything.
type NoopLogger struct{}

// Report implements Logger.
func (NoopLogger) Report(*Cluster, LogEvent) {}

// ReqStat implements Logger.
func (NoopLogger) ReqStat(*Cluster, *redisconn.Connection, Request, any, int64, int64, int64) {}

// NewSlogLogger returns a Logger that writes events to l, including the events of the
// connections; with a nil l it is silent. See redisconn.NewSlogLogger for levels and limits.
func NewSlogLogger(l *slog.Logger) Logger {
	return slogLogger{log: oplog.New(l), conns: redisconn.NewSlogLogger(l)}
}

// slogLogger is a Logger that writes to a slog.Logger.
type slogLogger struct {
	NoopLogger
	log   *oplog.Log
	conns redisconn.Logger
}

// WantsReqStat returns false, so connections collect no statistics.
func (slogLogger) WantsReqStat() bool { return false }

// Report implements Logger.
func (s slogLogger) Report(cluster *Cluster, event LogEvent) {
	if e, ok := event.(LogHostEvent); ok {
		s.conns.Report(e.Conn, e.Event)
		return
	}
	s.log.WriteLine(context.WithoutCancel(cluster.Ctx()), event.logEvent(), slog.String("cluster", cluster.Name()))
}
