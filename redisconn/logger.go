package redisconn

import (
	"log"

	"github.com/joomcode/redispipe/internal/aside"
	"github.com/joomcode/redispipe/redis"
)

// Logger gets the events of a connection. Its methods run in the connection's
// goroutines, so they should be quick. They may call the connection, but must not wait
// for one of its results.
type Logger interface {
	// Report is called for each event, in order; those of dedicated connections come
	// at the same time as others.
	Report(conn *Connection, event LogEvent)
	// ReqStat is called for each answered request but AUTH, with its result, the
	// nanoseconds from Send to the answer, the bytes of the answer (in) and those of
	// the request (out). The request's arguments may be strings instead of the types
	// that were given. If the logger has a method WantsReqStat() bool, it is called
	// once, and statistics are collected only if it returns true.
	ReqStat(conn *Connection, req Request, res any, nanos, in, out int64)
}

// LogEvent is one of the Log… types.
type LogEvent interface {
	logEvent()
}

// LogOptCorrected: an option was out of its bounds, and another value is used. It is
// reported before all other events, once for each such option.
type LogOptCorrected struct {
	Option      string // the field's name in Opts
	Given, Used any
}

// LogConnecting: dialing begins.
type LogConnecting struct{}

// LogConnected: the handshake is done.
type LogConnected struct {
	LocalAddr  string
	RemoteAddr string
}

// LogConnectFailed: dialing or the handshake failed.
type LogConnectFailed struct {
	Error error
}

// LogDisconnected: an established connection broke.
type LogDisconnected struct {
	Error      error
	LocalAddr  string
	RemoteAddr string
}

// LogAuthFailed: Reauthenticate got no new credentials, or the server refused them. The
// connection goes on as the user that it has.
type LogAuthFailed struct {
	Error error
}

// LogContextClosed: the connection ended, by Close or with its context.
type LogContextClosed struct {
	Error error
}

// LogFuturePanic: a future, or another function of the user's, such as the logger or
// Opts.Dialer, panicked. At most the result of one request is lost, or one attempt to
// connect.
type LogFuturePanic struct {
	Value any    // what it panicked with
	Stack []byte // as by debug.Stack
}

// LogDedicatedConnected: a dedicated connection was made: see Opts.DedicatedConns. Of
// this event, as of [LogDedicatedDisconnected] and [LogDedicatedFailed], at most one is
// reported in a second; More is the number of those that were left out since the last
// one.
type LogDedicatedConnected struct {
	LocalAddr  string
	RemoteAddr string
	Open       int // how many there are
	More       int
}

// LogDedicatedDisconnected: a dedicated connection broke, or was closed because a command
// on it could not be unblocked.
type LogDedicatedDisconnected struct {
	Error      error
	LocalAddr  string
	RemoteAddr string
	More       int
}

// LogDedicatedFailed: dialing a dedicated connection, or its handshake, failed.
type LogDedicatedFailed struct {
	Error error
	More  int
}

// LogNotUnblocked: the context of a blocking command has ended, and the server could not
// be asked to unblock it, so that its connection is closed, an element may be lost, and the
// outcome is unknown. Either the ACL user may not call CLIENT ID, INFO and CLIENT UNBLOCK,
// which the error says, or the dedicated connection leads to another server process than
// the shared one, as behind a balancer. It is reported once for a [Connection];
// DedicatedStats.NotUnblocked counts all.
type LogNotUnblocked struct {
	Error error
}

// LogSessionLeaked: a redis.Session was garbage-collected without having been closed.
// Its connection is closed.
type LogSessionLeaked struct {
	// Opened is the stack of the goroutine that opened it, with Opts.TraceSessions.
	Opened string
}

func (LogOptCorrected) logEvent()          {}
func (LogConnecting) logEvent()            {}
func (LogConnected) logEvent()             {}
func (LogConnectFailed) logEvent()         {}
func (LogDisconnected) logEvent()          {}
func (LogAuthFailed) logEvent()            {}
func (LogContextClosed) logEvent()         {}
func (LogFuturePanic) logEvent()           {}
func (LogDedicatedConnected) logEvent()    {}
func (LogDedicatedDisconnected) logEvent() {}
func (LogDedicatedFailed) logEvent()       {}
func (LogNotUnblocked) logEvent()          {}
func (LogSessionLeaked) logEvent()         {}

// DefaultLogger writes events with the standard logger. It ignores statistics.
type DefaultLogger struct{}

// Report implements Logger.
func (DefaultLogger) Report(conn *Connection, event LogEvent) {
	name := conn.Addr()
	if given := conn.ClientName(); given != "" {
		name += " (" + given + ")"
	}
	switch e := event.(type) {
	case LogOptCorrected:
		log.Printf("redispipe: %s: option %s is %v instead of %v, which is out of bounds", name, e.Option, e.Used, e.Given)
	case LogConnecting:
		log.Printf("redispipe: %s: connecting", name)
	case LogConnected:
		log.Printf("redispipe: %s: connected (%s to %s)", name, e.LocalAddr, e.RemoteAddr)
	case LogConnectFailed:
		log.Printf("redispipe: %s: connecting failed: %v", name, e.Error)
	case LogDisconnected:
		log.Printf("redispipe: %s: disconnected (%s to %s): %v", name, e.LocalAddr, e.RemoteAddr, e.Error)
	case LogAuthFailed:
		log.Printf("redispipe: %s: authenticating again failed: %v", name, e.Error)
	case LogDedicatedConnected:
		log.Printf("redispipe: %s: dedicated connection (%s to %s), %d open", name, e.LocalAddr, e.RemoteAddr, e.Open)
	case LogDedicatedDisconnected:
		log.Printf("redispipe: %s: dedicated connection lost (%s to %s), and %d more: %v", name, e.LocalAddr, e.RemoteAddr, e.More, e.Error)
	case LogDedicatedFailed:
		log.Printf("redispipe: %s: dedicated connection failed, and %d more: %v", name, e.More, e.Error)
	case LogNotUnblocked:
		log.Printf("redispipe: %s: a cancelled blocking command can't be unblocked, and costs its connection: %v", name, e.Error)
	case LogSessionLeaked:
		log.Printf("redispipe: %s: session was never closed; opened by:\n%s", name, e.Opened)
	case LogContextClosed:
		log.Printf("redispipe: %s: closed: %v", name, e.Error)
	case LogFuturePanic:
		log.Printf("redispipe: %s: future panicked: %v\n%s", name, e.Value, e.Stack)
	}
}

// ReqStat implements Logger.
func (DefaultLogger) ReqStat(*Connection, Request, any, int64, int64, int64) {}

// NoopLogger ignores everything.
type NoopLogger struct{}

// Report implements Logger.
func (NoopLogger) Report(*Connection, LogEvent) {}

// ReqStat implements Logger.
func (NoopLogger) ReqStat(*Connection, Request, any, int64, int64, int64) {}

// WantsReqStat reports whether a logger uses statistics. A logger with a method
// WantsReqStat() bool is asked; nil and the loggers of this package do not.
func WantsReqStat(l Logger) bool {
	if chooser, ok := l.(interface{ WantsReqStat() bool }); ok {
		return chooser.WantsReqStat()
	}
	switch l.(type) {
	case nil, DefaultLogger, *DefaultLogger, NoopLogger, *NoopLogger:
		return false
	}
	return true
}

// Request is redis.Request.
type Request = redis.Request

// Future is redis.Future.
type Future = redis.Future

// report passes an event to the logger. It is never called under a lock. A
// logger that panics must not end the process, nor the goroutine that reports.
func (c *Connection) report(event LogEvent) {
	aside.Call(func() { c.opts.Logger.Report(c, event) }, func(v any, stack []byte) {
		DefaultLogger{}.Report(c, LogFuturePanic{Value: v, Stack: stack})
	})
}
