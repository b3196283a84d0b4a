package rediscluster

import (
	"log"
	"runtime/debug"

	"github.com/joomcode/redispipe/internal/aside"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
)

// Request is redis.Request.
type Request = redis.Request

// Future is redis.Future.
type Future = redis.Future

// Logger gets what happens to a cluster. Its methods may call the cluster; they
// should be quick, since they run in goroutines of the cluster and its connections.
type Logger interface {
	// Report is called with each event.
	Report(cluster *Cluster, event LogEvent)
	// ReqStat is called with each answered request, by a connection: see
	// redisconn.Logger. A request that is redirected is answered several times.
	// A logger may have a method WantsReqStat() bool, too, which is asked once
	// for each connection: statistics that nobody wants are not collected.
	ReqStat(cluster *Cluster, conn *redisconn.Connection, req Request, res any, nanos, in, out int64)
}

// LogEvent is one of the Log… types.
type LogEvent interface {
	logEvent()
}

// LogOptCorrected: an option was out of its bounds, or is one that the cluster sets
// itself, and another value is used. It is reported before all other events, once for
// each such option.
type LogOptCorrected struct {
	Option      string // the field's name in Opts
	Given, Used any
}

// LogHostEvent: something happened to a connection.
type LogHostEvent struct {
	Conn  *redisconn.Connection
	Event redisconn.LogEvent
}

// LogClusterSlotsError: a node did not tell the slots.
type LogClusterSlotsError struct {
	Conn  *redisconn.Connection
	Error error
}

// LogSlotRangeError: no node told the slots; the last ones known stay in use.
type LogSlotRangeError struct{}

// LogInitialNodeSkipped: an address that was given can't be used.
type LogInitialNodeSkipped struct {
	Address string
	Error   error
}

// LogSentinelFailed: a sentinel can't be asked, which is said once until it can be
// again, or sentinels have begun to disagree. What was known before stays in use.
type LogSentinelFailed struct {
	Address string
	Error   error
}

// LogContextClosed: the cluster ended, by Close or with its context.
type LogContextClosed struct {
	Error error
}

// LogFuturePanic: a future, or another function of the user's, such as the logger or the
// WeightProvider, panicked. At most one request is concerned, or one refresh.
type LogFuturePanic struct {
	Value any    // what it panicked with
	Stack []byte // as by debug.Stack
}

// LogTopologyChanged: slots, nodes or roles have changed.
type LogTopologyChanged struct {
	// Masters are the addresses of those that serve slots.
	Masters []string
}

func (LogOptCorrected) logEvent()       {}
func (LogHostEvent) logEvent()          {}
func (LogClusterSlotsError) logEvent()  {}
func (LogSlotRangeError) logEvent()     {}
func (LogInitialNodeSkipped) logEvent() {}
func (LogSentinelFailed) logEvent()     {}
func (LogContextClosed) logEvent()      {}
func (LogFuturePanic) logEvent()        {}
func (LogTopologyChanged) logEvent()    {}

// DefaultLogger writes events with the standard logger. It ignores statistics.
type DefaultLogger struct{}

// Report implements Logger.
func (DefaultLogger) Report(cluster *Cluster, event LogEvent) {
	name := cluster.Name()
	switch e := event.(type) {
	case LogOptCorrected:
		log.Printf("redispipe: cluster %s: option %s is %v instead of %v", name, e.Option, e.Used, e.Given)
	case LogHostEvent:
		redisconn.DefaultLogger{}.Report(e.Conn, e.Event)
	case LogClusterSlotsError:
		log.Printf("redispipe: cluster %s: %s does not tell the slots: %v", name, e.Conn.Addr(), e.Error)
	case LogSlotRangeError:
		log.Printf("redispipe: cluster %s: no node tells the slots", name)
	case LogInitialNodeSkipped:
		log.Printf("redispipe: cluster %s: %s is skipped: %v", name, e.Address, e.Error)
	case LogSentinelFailed:
		log.Printf("redispipe: cluster %s: sentinel %s: %v", name, e.Address, e.Error)
	case LogContextClosed:
		log.Printf("redispipe: cluster %s: closed: %v", name, e.Error)
	case LogFuturePanic:
		log.Printf("redispipe: cluster %s: future panicked: %v\n%s", name, e.Value, e.Stack)
	case LogTopologyChanged:
		log.Printf("redispipe: cluster %s: new topology, masters: %v", name, e.Masters)
	}
}

// ReqStat implements Logger.
func (DefaultLogger) ReqStat(*Cluster, *redisconn.Connection, Request, any, int64, int64, int64) {}

// NoopLogger ignores everything.
type NoopLogger struct{}

// Report implements Logger.
func (NoopLogger) Report(*Cluster, LogEvent) {}

// ReqStat implements Logger.
func (NoopLogger) ReqStat(*Cluster, *redisconn.Connection, Request, any, int64, int64, int64) {}

// report passes an event to the logger. One that panics must not end the process,
// nor the goroutine that reports.
func (c *Cluster) report(event LogEvent) {
	aside.Call(func() { c.opts.Logger.Report(c, event) }, func(v any, stack []byte) {
		DefaultLogger{}.Report(c, LogFuturePanic{Value: v, Stack: stack})
	})
}

// call calls what is the user's, and reports whether it has returned: it may panic, or
// end its goroutine.
func (c *Cluster) call(f func()) (returned bool) {
	return aside.Call(f, func(v any, stack []byte) { c.report(LogFuturePanic{Value: v, Stack: stack}) })
}

func wantsReqStat(l Logger) bool {
	if chooser, ok := l.(interface{ WantsReqStat() bool }); ok {
		return chooser.WantsReqStat()
	}
	switch l.(type) {
	case DefaultLogger, *DefaultLogger, NoopLogger, *NoopLogger:
		return false
	}
	return true
}

// recovered reports a panic of what is the user's, in a goroutine that is the
// cluster's.
func (c *Cluster) recovered() {
	if v := recover(); v != nil {
		c.report(LogFuturePanic{Value: v, Stack: debug.Stack()})
	}
}
