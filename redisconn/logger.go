package redisconn

import (
	"context"
	"log"
	"log/slog"
	"time"

	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/internal/lifetime"
	"github.com/joomcode/redispipe/internal/oplog"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/internal/timing"
)

// Logger gets the events of a connection. Its methods run in the connection's
// goroutines, so they should return quickly. They may call the connection, but must not wait
// for one of its results, such as that of Reauthenticate.
type Logger interface {
	// Report is called for each event. [LogOptCorrected], [LogConnecting], [LogConnected],
	// [LogConnectFailed], [LogDisconnected] and [LogContextClosed] come in order, one at a time.
	// Any other event may be reported at the same time as another one.
	Report(conn *Connection, event LogEvent)
	// ReqStat is called for each answered request except AUTH, with its result, the nanoseconds
	// from Send to the answer, and the size in bytes of the answer (in) and the request (out). The
	// request's arguments may be strings instead of their original types. If the logger has a
	// method WantsReqStat() bool, the connection calls it once, and collects statistics only if the
	// method returns true.
	ReqStat(conn *Connection, req Request, res any, nanos, in, out int64)
}

// DefaultLogger writes events with the standard logger. It ignores statistics.
type DefaultLogger struct{}

// Report implements Logger.
func (DefaultLogger) Report(conn *Connection, event LogEvent) {
	name := conn.Addr()
	if given := conn.ClientName(); given != "" {
		name += " (" + given + ")"
	}
	log.Printf("redispipe: %s: %s", name, event.logEvent().Text)
}

// ReqStat implements Logger.
func (DefaultLogger) ReqStat(*Connection, Request, any, int64, int64, int64) {}

// NoopLogger ignores everything.
type NoopLogger struct{}

// Report implements Logger.
func (NoopLogger) Report(*Connection, LogEvent) {}

// ReqStat implements Logger.
func (NoopLogger) ReqStat(*Connection, Request, any, int64, int64, int64) {}

// report passes an event to the logger. It must not be called under a lock. If the logger
// panics, the process and the reporting goroutine survive.
func (c *Connection) report(event LogEvent) {
	lifetime.CallUser(func() { c.opts.Logger.Report(c, event) }, func(v any, stack []byte) {
		DefaultLogger{}.Report(c, loggerPanic{Value: v, Stack: stack})
	})
}

// NewSlogLogger returns a Logger that writes events to l, in a group "redis"; with a nil l it is
// silent. Events at the levels debug and info need no action. The cause of a warning may go away
// without action, the cause of an error will not. Messages are constant, and lines show neither
// arguments nor secrets. The Logger writes the first ten lines of each message at once and then one
// a second, with the number of lines left out ("suppressed"). Connections that share a Logger share
// this limit.
func NewSlogLogger(l *slog.Logger) Logger { return slogLogger{log: oplog.New(l)} }

// slogLogger is a Logger that writes to a slog.Logger.
type slogLogger struct {
	NoopLogger
	log *oplog.Log
}

// Report implements Logger.
func (s slogLogger) Report(conn *Connection, event LogEvent) {
	s.log.WriteLine(context.WithoutCancel(conn.Ctx()), event.logEvent(), slog.String("address", conn.Addr()))
}

// WantsReqStat returns false, so the connection collects no statistics.
func (slogLogger) WantsReqStat() bool { return false }

// newStat returns the statistics record of r. For AUTH, in any spelling, it returns nil, so that no
// logger gets a password. Users can't send HELLO, which may also contain one.
func newStat(r *send.Request) *timing.Stat {
	if call := command.Of(r.Cmd, nil); call.Info != nil && call.Name == "AUTH" {
		return nil
	}
	return &timing.Stat{Req: Request{Cmd: r.Cmd, Args: r.Args()}, Start: time.Now()}
}

// reportStat tells the logger of an answered request.
func (c *Connection) reportStat(st *timing.Stat, res any, in, out int) {
	c.opts.Logger.ReqStat(c, st.Req, res, time.Since(st.Start).Nanoseconds(), int64(in), int64(out))
}
