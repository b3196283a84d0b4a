// Package oplog writes what operators are to see of a connection or a cluster to a
// slog.Logger: constant messages, one group, and so few lines that an outage does not
// fill a disk.
package oplog

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// Of each message Burst lines are written at once, and one each Interval after that. So ten lines
// tell that a thousand connections were lost together.
const (
	Burst    = 10
	Interval = time.Second
)

// Log writes to a slog.Logger. A nil one is silent.
type Log struct {
	to *slog.Logger

	mu     sync.Mutex        // guards limits
	limits map[string]*Limit // by message
	now    func() time.Time
}

// Limit is for events that the other side may cause as often as it likes: as many are told of as
// lines of one message are written. It is safe for use by many goroutines.
type Limit struct {
	mu         sync.Mutex // guards what follows
	used       float64    // how many were told of lately
	at         time.Time
	suppressed int
}

// Admit reports whether an event may be told of now, and how many were not since the last.
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

// New returns a Log; nil is silent.
func New(to *slog.Logger) *Log {
	return &Log{to: to, limits: make(map[string]*Limit), now: time.Now}
}

// Write writes a message, which has to be a constant, with attributes in the group
// "redis". If lines with this message were left out before, it says how many. A handler
// that panics is not heard of.
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

// limit returns that of a message.
func (l *Log) limit(message string) *Limit {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.limits[message] == nil {
		l.limits[message] = &Limit{}
	}
	return l.limits[message]
}

// Line is how an event is written: a text for the standard logger, and the rest for slog. Each
// type of events has a method that returns its Line: a new one needs nothing else.
type Line struct {
	Text string

	level   slog.Level
	message string
	attrs   []slog.Attr
}

// Text begins a line.
func Text(format string, args ...any) Line { return Line{Text: fmt.Sprintf(format, args...)} }

// Slog adds what slog gets. The message has to be a constant.
func (l Line) Slog(level slog.Level, message string, attrs ...slog.Attr) Line {
	l.level, l.message, l.attrs = level, message, attrs
	return l
}

// Panicked is the line of a panic of what, which is the user's. What it panicked with may
// hold anything, so slog gets its type only.
func Panicked(what string, value any, stack []byte) Line {
	return Text("%s panicked: %v\n%s", what, value, stack).
		Slog(slog.LevelError, "redis "+what+" panicked", slog.String("type", fmt.Sprintf("%T", value)), slog.String("stack", string(stack)))
}

// WriteLine writes a line, with attributes before its own.
func (l *Log) WriteLine(ctx context.Context, line Line, attrs ...slog.Attr) {
	l.Write(ctx, line.level, line.message, append(attrs, line.attrs...)...)
}
