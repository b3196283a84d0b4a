// Package oplog writes what operators are to see of a connection or a cluster to a
// slog.Logger: constant messages, one group, and so few lines that an outage does not
// fill a disk.
package oplog

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Of each message Burst lines are written at once, and one each Interval after that:
// that a thousand connections are lost together is told in ten lines.
const (
	Burst    = 10
	Interval = time.Second
)

// Log writes to a slog.Logger. A nil one is silent.
type Log struct {
	to *slog.Logger

	mu      sync.Mutex // guards buckets
	buckets map[string]*bucket
	now     func() time.Time
}

// bucket is how many lines of one message may be written.
type bucket struct {
	left       float64
	at         time.Time
	suppressed int
}

// New returns a Log; nil is silent.
func New(to *slog.Logger) *Log {
	return &Log{to: to, buckets: make(map[string]*bucket), now: time.Now}
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
	suppressed, ok := l.admit(message)
	if !ok {
		return
	}
	if suppressed > 0 {
		attrs = append(attrs, slog.Int("suppressed", suppressed))
	}
	l.to.LogAttrs(ctx, level, message, slog.GroupAttrs("redis", attrs...))
}

// admit reports whether a line may be written, and how many were not since the last.
func (l *Log) admit(message string) (suppressed int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	b := l.buckets[message]
	if b == nil {
		b = &bucket{left: Burst, at: now}
		l.buckets[message] = b
	}
	b.left = min(Burst, b.left+now.Sub(b.at).Seconds()/Interval.Seconds())
	b.at = now
	if b.left < 1 {
		b.suppressed++
		return 0, false
	}
	b.left--
	suppressed, b.suppressed = b.suppressed, 0
	return suppressed, true
}
