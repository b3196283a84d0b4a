package redisfailover

import (
	"context"
	"log"
	"log/slog"

	"github.com/joomcode/redispipe/internal/lifetime"
	"github.com/joomcode/redispipe/internal/oplog"
	"github.com/joomcode/redispipe/redis"
)

// Logger gets the events of a client. Report is called in the goroutine that judges or opens the members, or
// by Open or SwitchTo, so it should return quickly. The same holds for hooks, which get shifts as
// redis.OperationShift.
type Logger interface {
	Report(c *Client, event LogEvent)
}

// LogEvent is one of the Log… types.
type LogEvent interface {
	// logEvent returns the line that DefaultLogger and NewSlogLogger write.
	logEvent() oplog.Line
}

// LogShift: another member is active.
type LogShift struct {
	From, To string // names of members
	Reason   Reason
	Error    error // the last failure of From, if the reason is Failed
}

// LogDown: a member has failed for Opts.Patience, or its first probe has failed in Open, or Open could not open it.
type LogDown struct {
	Member string
	Error  error // the member's last failure
}

// LogUp: a member that was down answers.
type LogUp struct{ Member string }

// LogReturn: keys begin to move from the active member, From, to the preferred one, To, for Opts.Ramp.
// When all keys have moved, a LogShift follows. If To fails, or SwitchTo chooses From, a second
// LogReturn with Ended follows, and all keys are back on From.
type LogReturn struct {
	From, To string // names of members
	Ended    bool
	Error    error // why To is down, if the return has ended for that reason
}

// LogPanic: the logger panicked.
type LogPanic struct {
	Value any    // the value of the panic
	Stack []byte // in the format of debug.Stack
}

// Reason is the reason of a shift.
type Reason uint8

const (
	// Failed: the member that was active is down.
	Failed Reason = iota + 1
	// Restored: the preferred member has been up for Opts.Failback.
	Restored
	// Switched: SwitchTo was called.
	Switched
)

// String implements fmt.Stringer.
func (r Reason) String() string {
	switch r {
	case Failed:
		return "failed"
	case Restored:
		return "restored"
	case Switched:
		return "switched"
	}
	return "unknown"
}

func (e LogShift) logEvent() oplog.Line {
	attrs := []slog.Attr{slog.String("from", e.From), slog.String("to", e.To), slog.String("reason", e.Reason.String())}
	if e.Error == nil {
		return oplog.Text("shifted from %s to %s: %s", e.From, e.To, e.Reason).
			Slog(slog.LevelWarn, "redis client shifted to another member", attrs...)
	}
	return oplog.Text("shifted from %s to %s: %s: %v", e.From, e.To, e.Reason, e.Error).
		Slog(slog.LevelWarn, "redis client shifted to another member", append(attrs, slog.Any("error", e.Error))...)
}

func (e LogReturn) logEvent() oplog.Line {
	attrs := []slog.Attr{slog.String("from", e.From), slog.String("to", e.To)}
	switch {
	case e.Error != nil:
		return oplog.Text("all keys are back from %s to %s: %v", e.To, e.From, e.Error).
			Slog(slog.LevelWarn, "redis client stopped its return to a member", append(attrs, slog.Any("error", e.Error))...)
	case e.Ended:
		return oplog.Text("all keys are back from %s to %s", e.To, e.From).
			Slog(slog.LevelWarn, "redis client stopped its return to a member", attrs...)
	}
	return oplog.Text("keys begin to move from %s to %s", e.From, e.To).
		Slog(slog.LevelWarn, "redis client returns to a member", attrs...)
}

func (e LogDown) logEvent() oplog.Line {
	return oplog.Text("%s is down: %v", e.Member, e.Error).
		Slog(slog.LevelWarn, "redis member down", slog.String("member", e.Member), slog.Any("error", e.Error))
}

func (e LogUp) logEvent() oplog.Line {
	return oplog.Text("%s is up", e.Member).Slog(slog.LevelInfo, "redis member up", slog.String("member", e.Member))
}

func (e LogPanic) logEvent() oplog.Line { return oplog.Panicked("logger", e.Value, e.Stack) }

// DefaultLogger writes events with the standard logger.
type DefaultLogger struct{}

// Report implements Logger.
func (DefaultLogger) Report(_ *Client, event LogEvent) {
	log.Printf("redispipe: failover: %s", event.logEvent().Text)
}

// NoopLogger ignores everything.
type NoopLogger struct{}

// Report implements Logger.
func (NoopLogger) Report(*Client, LogEvent) {}

// hook is a user's hook in the form that redis.WithHook returns.
type hook interface {
	Around(ctx context.Context, op redis.Operation, f func() redis.Completion) redis.Completion
}

// report passes an event to the hooks and the logger, and recovers their panics.
func (c *Client) report(event LogEvent) {
	if shift, is := event.(LogShift); is {
		op := redis.Operation{Kind: redis.OperationShift, Command: "SHIFT"}
		for _, h := range c.opts.Hooks {
			redis.WithHook(nil, h).(hook).Around(c.ctx, op, func() redis.Completion {
				return redis.Completion{Result: shift, Address: shift.To}
			})
		}
	}
	lifetime.CallUser(func() { c.opts.Logger.Report(c, event) }, func(v any, stack []byte) {
		DefaultLogger{}.Report(c, LogPanic{Value: v, Stack: stack})
	})
}

// NewSlogLogger returns a Logger that writes events to l; with a nil l it is silent. See
// redisconn.NewSlogLogger for levels and limits.
func NewSlogLogger(l *slog.Logger) Logger { return slogLogger{oplog.New(l)} }

// slogLogger is a Logger that writes to a slog.Logger.
type slogLogger struct{ log *oplog.Log }

// Report implements Logger.
func (l slogLogger) Report(c *Client, event LogEvent) {
	l.log.WriteLine(context.WithoutCancel(c.ctx), event.logEvent())
}
