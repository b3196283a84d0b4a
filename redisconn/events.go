package redisconn

import (
	"cmp"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/joomcode/redispipe/internal/oplog"
	"github.com/joomcode/redispipe/internal/pubsub"
	"github.com/joomcode/redispipe/internal/sock"
	"github.com/joomcode/redispipe/redis"
)

// LogEvent is one of the Log… types.
type LogEvent interface {
	// logEvent returns the line that DefaultLogger and NewSlogLogger write.
	logEvent() oplog.Line
}

// LogOptCorrected: an option was out of its bounds, and the connection uses another value. This
// event comes before all others, once for each such option.
type LogOptCorrected struct {
	Option      string // the field's name in Opts
	Given, Used any
}

// LogConnecting: dialing starts.
type LogConnecting struct{}

// LogConnected: the handshake is done.
type LogConnected struct {
	LocalAddr  string
	RemoteAddr string
}

// LogPeerLimited: the server, or a proxy in front of it, lacks something that the handshake asks for.
// The connection works without it. The event follows LogConnected whenever Without has changed. See
// docs/proxies.md.
type LogPeerLimited struct {
	Without string // what is missing; empty if nothing is missing any more
}

// LogConnectFailed: dialing or the handshake failed.
type LogConnectFailed struct {
	Error error
}

// LogDisconnected: the connection was lost or, if the error is a [redis.ErrContextClosed],
// closed by its owner.
type LogDisconnected struct {
	Error      error
	LocalAddr  string
	RemoteAddr string
}

// LogAuthFailed: Reauthenticate got no new credentials, or the server refused them. The
// connection keeps its user.
type LogAuthFailed struct {
	Error error
}

// LogMaintenance: the server announces maintenance, as managed servers do with Opts.Protocol 3. The
// first ten announcements are reported at once, and then one a second. The event may be reported at
// the same time as other events.
//
// After MOVING, the connection dials the new address. It uses the new socket as soon as all requests
// in flight are answered, and then reports a [LogConnected] without a [LogDisconnected]. If it can't
// connect, it reports nothing and keeps the old socket. From MIGRATING to MIGRATED,
// FAILING_OVER to FAILED_OVER, and SMIGRATING to SMIGRATED, it waits at least 10 s for answers.
type LogMaintenance struct {
	Kind     string        // MOVING, MIGRATING, MIGRATED, FAILING_OVER, FAILED_OVER, SMIGRATING or SMIGRATED
	In       time.Duration // time until the maintenance starts, at most a day; zero if the server does not say, or MOVING is malformed
	Endpoint string        // for MOVING, the address to use instead; empty if the address does not change
}

// LogContextClosed: the connection was closed, by Close or because its context ended. Error says
// which. errors.Is finds context.Canceled in Error even after Close.
type LogContextClosed struct {
	Error error
}

// LogContextOutlived: the context of Connect, which has a deadline, has ended. The connection lives
// until Close, because a deadline limits only the call to Connect.
type LogContextOutlived struct {
	Error error // why the context ended
}

// LogFuturePanic: a future or another of the user's functions, such as Logger.ReqStat or
// Opts.Dialer, panicked. The panic costs at most one result, or one attempt to connect.
type LogFuturePanic struct {
	Value any    // the value of the panic
	Stack []byte // the stack, in the format of debug.Stack
}

// loggerPanic: Logger.Report panicked. DefaultLogger gets this event.
type loggerPanic LogFuturePanic

// LogDedicatedConnected: a dedicated connection was opened: see Opts.DedicatedConns. This
// event, [LogDedicatedDisconnected] and [LogDedicatedFailed] are each reported ten times at
// once and then once a second; More is the number left out since the last report.
type LogDedicatedConnected struct {
	LocalAddr  string
	RemoteAddr string
	Open       int // the number of open dedicated connections
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

// LogNotUnblocked: the context of a blocking command ended, and the connection could not ask the
// server to unblock the command. The client closes the command's connection. The outcome is
// unknown, and a popped element may be lost. Either the ACL user has no permission for CLIENT ID,
// INFO or CLIENT UNBLOCK (then the error names the command), or the dedicated connection leads to a
// different server process than the shared one, for example behind a load balancer. The event is
// reported once for each [Connection]; DedicatedStats.NotUnblocked counts all such commands.
type LogNotUnblocked struct {
	Error error
}

// LogTrackingFailed: dialing the tracking connection of a cache, or its handshake, failed, for
// example because the user has no permission for CLIENT TRACKING. The client dials again after at most
// half a second. Until it is connected, no read is answered from the cache. See package rediscache.
type LogTrackingFailed struct {
	Error error
}

// LogSessionLeaked: a redis.Session was garbage-collected before it was closed.
// The connection of the session is closed.
type LogSessionLeaked struct {
	// Opened is the stack of the goroutine that opened the session, with Opts.TraceSessions.
	Opened string
}

func (e LogOptCorrected) logEvent() oplog.Line {
	return oplog.Text("option %s is %v instead of %v, which is out of bounds", e.Option, e.Used, e.Given).
		Slog(slog.LevelWarn, "redis option corrected", slog.String("option", e.Option), slog.String("used", fmt.Sprint(e.Used)))
}

func (LogConnecting) logEvent() oplog.Line {
	return oplog.Text("connecting").Slog(slog.LevelDebug, "redis connecting")
}

func (e LogConnected) logEvent() oplog.Line {
	return oplog.Text("connected (%s to %s)", e.LocalAddr, e.RemoteAddr).
		Slog(slog.LevelInfo, "redis connected", slog.String("local", e.LocalAddr), slog.String("peer", e.RemoteAddr))
}

func (e LogPeerLimited) logEvent() oplog.Line {
	return oplog.Text("the other side is a proxy, or lacks a feature; the connection does without: %s", cmp.Or(e.Without, "nothing")).
		Slog(slog.LevelWarn, "redis peer limited", slog.String("without", e.Without))
}

// without describes what the peer of a connection lacks.
func without(p sock.Peer) string {
	var list []string
	for _, lacks := range []struct {
		is   bool
		what string
	}{
		{p.Lean, "CLIENT SETINFO and names: it closes the connection when it gets them"},
		{p.Mute, "PING's argument: heartbeats can't show whether each request gets its own reply"},
		{p.NoPing, "PING: it answers heartbeats with an error, so they can't show whether each request gets its own reply"},
		{p.RESP2, "RESP3: it refuses it"},
	} {
		if lacks.is {
			list = append(list, lacks.what)
		}
	}
	return strings.Join(list, "; ")
}

func (e LogConnectFailed) logEvent() oplog.Line {
	return oplog.Text("connecting failed: %v", e.Error).
		Slog(failedLevel(e.Error), "redis connecting failed", slog.Any("error", e.Error))
}

func (e LogDisconnected) logEvent() oplog.Line {
	level, message := slog.LevelWarn, "redis connection lost"
	if failure := redis.AsErrorx(e.Error); failure != nil && failure.IsOfType(redis.ErrContextClosed) { // the connection's owner has closed it
		level, message = slog.LevelInfo, "redis disconnected"
	}
	return oplog.Text("disconnected (%s to %s): %v", e.LocalAddr, e.RemoteAddr, e.Error).
		Slog(level, message, slog.String("local", e.LocalAddr), slog.String("peer", e.RemoteAddr), slog.Any("error", e.Error))
}

func (e LogAuthFailed) logEvent() oplog.Line {
	return oplog.Text("authenticating again failed: %v", e.Error).
		Slog(slog.LevelError, "redis authenticating again failed", slog.Any("error", e.Error))
}

func (e LogMaintenance) logEvent() oplog.Line {
	return oplog.Text("maintenance: %v", pubsub.Work(e)).
		Slog(slog.LevelInfo, "redis maintenance", slog.String("kind", e.Kind), slog.Duration("in", e.In), slog.String("endpoint", e.Endpoint))
}

func (e LogContextClosed) logEvent() oplog.Line {
	return oplog.Text("closed: %v", e.Error).Slog(slog.LevelInfo, "redis connection closed", slog.Any("error", e.Error))
}

func (e LogContextOutlived) logEvent() oplog.Line {
	return oplog.Text("outlives the context that it was created with (%v), which has a deadline: it lives until Close", e.Error).
		Slog(slog.LevelDebug, "redis connection outlives the context that it was created with", slog.Any("error", e.Error))
}

func (e LogFuturePanic) logEvent() oplog.Line { return oplog.Panicked("callback", e.Value, e.Stack) }

func (e loggerPanic) logEvent() oplog.Line { return oplog.Panicked("logger", e.Value, e.Stack) }

func (e LogDedicatedConnected) logEvent() oplog.Line {
	return oplog.Text("dedicated connection (%s to %s), %d open", e.LocalAddr, e.RemoteAddr, e.Open).
		Slog(slog.LevelDebug, "redis dedicated connection connected",
			slog.String("local", e.LocalAddr), slog.String("peer", e.RemoteAddr), slog.Int("open", e.Open), slog.Int("more", e.More))
}

func (e LogDedicatedDisconnected) logEvent() oplog.Line {
	return oplog.Text("dedicated connection lost (%s to %s), and %d more: %v", e.LocalAddr, e.RemoteAddr, e.More, e.Error).
		Slog(slog.LevelWarn, "redis dedicated connection lost",
			slog.String("local", e.LocalAddr), slog.String("peer", e.RemoteAddr), slog.Int("more", e.More), slog.Any("error", e.Error))
}

func (e LogDedicatedFailed) logEvent() oplog.Line {
	return oplog.Text("dedicated connection failed, and %d more: %v", e.More, e.Error).
		Slog(failedLevel(e.Error), "redis dedicated connection failed", slog.Int("more", e.More), slog.Any("error", e.Error))
}

func (e LogNotUnblocked) logEvent() oplog.Line {
	return oplog.Text("can't unblock a cancelled blocking command, so its connection is closed: %v", e.Error).
		Slog(slog.LevelWarn, "redis blocking command can't be unblocked", slog.Any("error", e.Error))
}

func (e LogTrackingFailed) logEvent() oplog.Line {
	return oplog.Text("tracking connection failed: %v", e.Error).
		Slog(failedLevel(e.Error), "redis tracking connection failed", slog.Any("error", e.Error))
}

func (e LogSessionLeaked) logEvent() oplog.Line {
	return oplog.Text("session was never closed; opened by:\n%s", e.Opened).
		Slog(slog.LevelWarn, "redis session was never closed", slog.String("opened", e.Opened))
}

// failedLevel returns the log level of a failure to connect.
func failedLevel(err error) slog.Level {
	if failure := redis.AsErrorx(err); failure != nil && failure.HasTrait(ErrTraitInitPermanent) {
		return slog.LevelError
	}
	return slog.LevelWarn
}
