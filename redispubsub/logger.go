package redispubsub

import (
	"context"
	"log"
	"log/slog"
	"time"

	"github.com/joomcode/redispipe/internal/lifetime"
	"github.com/joomcode/redispipe/internal/oplog"
	"github.com/joomcode/redispipe/internal/pubsub"
	"github.com/joomcode/redispipe/redis"
)

// Logger gets the events of a subscriber's sockets. Report runs in the goroutines of the sockets, so it
// should return quickly.
type Logger interface {
	Report(s *Subscriber, event LogEvent)
}

// LogEvent is one of the Log… types.
type LogEvent interface {
	// logEvent returns the line that DefaultLogger and NewSlogLogger write.
	logEvent() oplog.Line
}

// LogConnected: a socket is connected, and subscribing starts.
type LogConnected struct{ Addr string }

// LogConnectFailed: dialing or the handshake failed.
type LogConnectFailed struct {
	Addr  string
	Error error
}

// LogDisconnected: a socket has ended. Its topics have gaps from then on. A socket also
// ends when it has no topics left.
type LogDisconnected struct {
	Addr  string
	Error error
}

// LogMaintenance: the server announces maintenance, as managed servers do. The library only
// reports it; if the socket ends, it dials again as always. The first ten announcements are
// reported at once, and after that at most one a second.
type LogMaintenance struct {
	Addr     string
	Kind     string        // MOVING, MIGRATING, MIGRATED, FAILING_OVER, FAILED_OVER, SMIGRATING or SMIGRATED
	In       time.Duration // the time until the maintenance starts, at most a day; zero if the server does not say
	Endpoint string        // for MOVING, the address to use instead; empty if the address stays the same
}

// LogPanic: the logger panicked.
type LogPanic struct {
	Value any    // the value of the panic
	Stack []byte // in the format of debug.Stack
}

func (e LogConnected) logEvent() oplog.Line {
	return oplog.Text("%s: connected", e.Addr).
		Slog(slog.LevelInfo, "redis subscriber connected", slog.String("address", e.Addr))
}

func (e LogConnectFailed) logEvent() oplog.Line {
	return oplog.Text("%s: connecting failed: %v", e.Addr, e.Error).
		Slog(slog.LevelWarn, "redis subscriber failed to connect", slog.String("address", e.Addr), slog.Any("error", e.Error))
}

func (e LogDisconnected) logEvent() oplog.Line {
	level := slog.LevelWarn
	if failure := redis.AsErrorx(e.Error); failure != nil && failure.IsOfType(redis.ErrContextClosed) { // its owner has closed it
		level = slog.LevelInfo
	}
	return oplog.Text("%s: disconnected: %v", e.Addr, e.Error).
		Slog(level, "redis subscriber disconnected", slog.String("address", e.Addr), slog.Any("error", e.Error))
}

func (e LogMaintenance) logEvent() oplog.Line {
	return oplog.Text("%s: maintenance: %v", e.Addr, pubsub.Work{Kind: e.Kind, In: e.In, Endpoint: e.Endpoint}).
		Slog(slog.LevelInfo, "redis maintenance", slog.String("address", e.Addr),
			slog.String("kind", e.Kind), slog.Duration("in", e.In), slog.String("endpoint", e.Endpoint))
}

func (e LogPanic) logEvent() oplog.Line { return oplog.Panicked("logger", e.Value, e.Stack) }

// DefaultLogger writes events with the standard logger.
type DefaultLogger struct{}

// Report implements Logger.
func (DefaultLogger) Report(_ *Subscriber, event LogEvent) {
	log.Printf("redispipe: subscriber: %s", event.logEvent().Text)
}

// NoopLogger ignores everything.
type NoopLogger struct{}

// Report implements Logger.
func (NoopLogger) Report(*Subscriber, LogEvent) {}

// report passes an event to the logger. If the logger panics, the process and the reporting
// goroutine survive.
func (s *Subscriber) report(event LogEvent) {
	lifetime.CallUser(func() { s.logger.Report(s, event) }, func(v any, stack []byte) {
		DefaultLogger{}.Report(s, LogPanic{Value: v, Stack: stack})
	})
}

// NewSlogLogger returns a Logger that writes events to l; with a nil l it is silent. See
// redisconn.NewSlogLogger for levels and limits.
func NewSlogLogger(l *slog.Logger) Logger { return slogLogger{oplog.New(l)} }

// slogLogger is a Logger that writes to a slog.Logger.
type slogLogger struct{ log *oplog.Log }

// Report implements Logger.
func (l slogLogger) Report(s *Subscriber, event LogEvent) {
	l.log.WriteLine(context.WithoutCancel(s.ctx), event.logEvent())
}
