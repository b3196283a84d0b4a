package redispubsub

import (
	"log"

	"github.com/joomcode/redispipe/internal/aside"
)

// Logger gets the events of a subscriber's sockets. It runs in their goroutines, so it
// should be quick.
type Logger interface {
	Report(s *Subscriber, event LogEvent)
}

// LogEvent is one of the Log… types.
type LogEvent interface{ logEvent() }

// LogConnected: a socket is connected, and subscribing begins.
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

// LogPanic: the logger panicked.
type LogPanic struct {
	Value any    // what it panicked with
	Stack []byte // as by debug.Stack
}

func (LogConnected) logEvent()     {}
func (LogConnectFailed) logEvent() {}
func (LogDisconnected) logEvent()  {}
func (LogPanic) logEvent()         {}

// DefaultLogger writes events with the standard logger.
type DefaultLogger struct{}

// Report implements Logger.
func (DefaultLogger) Report(_ *Subscriber, event LogEvent) {
	switch e := event.(type) {
	case LogConnected:
		log.Printf("redispipe: subscriber: %s: connected", e.Addr)
	case LogConnectFailed:
		log.Printf("redispipe: subscriber: %s: connecting failed: %v", e.Addr, e.Error)
	case LogDisconnected:
		log.Printf("redispipe: subscriber: %s: disconnected: %v", e.Addr, e.Error)
	case LogPanic:
		log.Printf("redispipe: subscriber: logger panicked: %v\n%s", e.Value, e.Stack)
	}
}

// NoopLogger ignores everything.
type NoopLogger struct{}

// Report implements Logger.
func (NoopLogger) Report(*Subscriber, LogEvent) {}

// report passes an event to the logger. One that panics must not end the process,
// nor the goroutine that reports.
func (s *Subscriber) report(event LogEvent) {
	aside.Call(func() { s.logger.Report(s, event) }, func(v any, stack []byte) {
		DefaultLogger{}.Report(s, LogPanic{Value: v, Stack: stack})
	})
}
