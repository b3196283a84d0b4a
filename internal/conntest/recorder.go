package conntest

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
)

// Recorder is a Logger that keeps events and statistics.
type Recorder struct {
	mu     sync.Mutex // guards events and stats
	events []redisconn.LogEvent
	stats  []Stat
}

// Stat holds the arguments of one call of ReqStat.
type Stat struct {
	Req            redis.Request
	Res            any
	Nanos, In, Out int64
}

// Report implements redisconn.Logger.
func (r *Recorder) Report(_ *redisconn.Connection, event redisconn.LogEvent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, event)
}

// ReqStat implements redisconn.Logger.
func (r *Recorder) ReqStat(_ *redisconn.Connection, req redis.Request, res any, nanos, in, out int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stats = append(r.stats, Stat{req, res, nanos, in, out})
}

// Events returns the events so far.
func (r *Recorder) Events() []redisconn.LogEvent {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.events)
}

// Stats returns the statistics so far.
func (r *Recorder) Stats() []Stat {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.stats)
}

// Names returns the types of the events so far, without the prefix Log.
func (r *Recorder) Names() (names []string) {
	for _, event := range r.Events() {
		names = append(names, strings.TrimPrefix(fmt.Sprintf("%T", event), "redisconn.Log"))
	}
	return names
}

// Count returns how many events so far are of a type, given without the prefix Log.
func (r *Recorder) Count(name string) (n int) {
	for _, other := range r.Names() {
		if other == name {
			n++
		}
	}
	return n
}

// Event returns the first event of a type, or its zero value.
func Event[E redisconn.LogEvent](r *Recorder) (e E) {
	for _, event := range r.Events() {
		if e, ok := event.(E); ok {
			return e
		}
	}
	return e
}
