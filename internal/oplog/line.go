package oplog

import (
	"context"
	"fmt"
	"log/slog"
)

// Line is how an event is written: a text for the standard logger, and the rest for slog.
// A type of events returns it from the method that makes it one, so that this is all that
// has to be said of a new one.
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
