// Package oplog writes what operators should know about a connection or a cluster to a slog.Logger:
// constant messages, one group, and few enough lines that an outage does not fill a disk.
package oplog

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// Burst is how many lines with the same message are written at once. After that, one is written per
// Interval. So a few lines report that many connections were lost together.
const (
	Burst    = 10
	Interval = time.Second
)

// Log writes to a slog.Logger. A nil Log writes nothing.
type Log struct {
	to *slog.Logger

	mu     sync.Mutex        // guards limits
	limits map[string]*Limit // by message
	now    func() time.Time
}

// Limit limits the reports of an event that a server can cause at any rate. It allows Burst reports
// at once, and then one per Interval. It is safe for concurrent use.
type Limit struct {
	mu         sync.Mutex // guards the fields below
	used       float64    // how many were reported recently
	at         time.Time
	suppressed int
}

// Admit reports whether an event may be reported now. If so, suppressed is the number of events
// that were not reported since the last report.
func (l *Limit) Admit(now time.Time) (suppressed int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.used = max(0, l.used-now.Sub(l.at).Seconds()/Interval.Seconds())
	l.at = now
	if l.used > Burst-1 {
		l.suppressed++
		return 0, false
	}
	l.used++
	suppressed, l.suppressed = l.suppressed, 0
	return suppressed, true
}

// New returns a Log. If l is nil, the Log writes nothing.
func New(to *slog.Logger) *Log {
	return &Log{to: to, limits: make(map[string]*Limit), now: time.Now}
}

// Write writes a message, which must be a constant, with attributes in the group "redis". If
// earlier lines with this message were left out, the line says how many. Write ignores a panic of
// the handler.
func (l *Log) Write(ctx context.Context, level slog.Level, message string, attrs ...slog.Attr) {
	if l.to == nil {
		return
	}
	defer func() { _ = recover() }()
	if !l.to.Enabled(ctx, level) {
		return
	}
	suppressed, ok := l.limit(message).Admit(l.now())
	if !ok {
		return
	}
	if suppressed > 0 {
		attrs = append(attrs, slog.Int("suppressed", suppressed))
	}
	l.to.LogAttrs(ctx, level, message, slog.GroupAttrs("redis", attrs...))
}

// limit returns the Limit of a message.
func (l *Log) limit(message string) *Limit {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.limits[message] == nil {
		l.limits[message] = &Limit{}
	}
	return l.limits[message]
}

// Line is a line about an event: a text for the standard logger, and a message with attributes for
// slog. Each type of event has a method that returns its Line; a new type needs nothing else.
type Line struct {
	Text string

	level   slog.Level
	message string
	attrs   []slog.Attr
}

// Text returns a Line with a text for the standard logger.
func Text(format string, args ...any) Line { return Line{Text: fmt.Sprintf(format, args...)} }

// Slog adds the message and the attributes for slog. The message must be a constant.
func (l Line) Slog(level slog.Level, message string, attrs ...slog.Attr) Line {
	l.level, l.message, l.attrs = level, message, attrs
	return l
}

// Panicked returns the line for a panic of a user's code. slog gets only the type of the panic's
// value, because the value may contain anything.
func Panicked(what string, value any, stack []byte) Line {
	return Text("%s panicked: %v\n%s", what, value, stack).
		Slog(slog.LevelError, "redis "+what+" panicked", slog.String("type", fmt.Sprintf("%T", value)), slog.String("stack", string(stack)))
}

// WriteLine writes a line. attrs come before the line's own attributes.
func (l *Log) WriteLine(ctx context.Context, line Line, attrs ...slog.Attr) {
	l.Write(ctx, line.level, line.message, append(attrs, line.attrs...)...)
}
