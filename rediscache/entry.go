package rediscache

import (
	"sync/atomic"
	"time"

	"github.com/joomcode/redispipe/internal/wire"
	"github.com/joomcode/redispipe/redis"
)

// entry is a reply that is kept, or is being read. It is found by its request, in the shard of
// the hash of that.
type entry struct {
	hash    uint64
	request string // as it is sent
	tags    []*tag // of its keys
	one     [1]*tag
	lease   *lease
	sent    instant // when it was read, not before
	listed  bool    // all keys have a prefix of Opts.Prefixes
	visited atomic.Bool

	// What follows is guarded by the lock of the shard, but that nothing changes the value once
	// the entry is filled.
	filled     bool
	value      value
	size       int64
	prev, next *entry   // in the queue of the shard, if it is filled
	reading    *reading // until it is filled or given up
}

// waiter is who waits for a read.
type waiter struct {
	to redis.Future
	n  uint64
}

func (w waiter) resolve(res any) {
	if w.to != nil {
		w.to.Resolve(res, w.n)
	}
}

// resolveValue resolves with a value that stays what it is.
func (w waiter) resolveValue(v value) {
	if taker, ok := w.to.(wire.TextTaker); ok && v.isText {
		taker.ResolveText(v.text, w.n)
		return
	}
	w.resolve(v.result())
}

// alive reports whether no key of the entry was changed, as far as is known, since before its
// request was sent.
func (e *entry) alive() bool {
	for _, t := range e.tags {
		if t.dead.Load() {
			return false
		}
	}
	return true
}

// fresh reports whether the entry may be served now to somebody who wants no reply older than
// age.
func (e *entry) fresh(now instant, age, nullAge time.Duration) bool {
	if e.value.null() {
		age = min(age, nullAge)
	}
	return now-e.sent < instant(age) && e.lease.holds(now) && e.alive()
}
