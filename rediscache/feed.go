package rediscache

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/joomcode/redispipe/internal/backend"
	"github.com/joomcode/redispipe/internal/pause"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscache/internal/memory"
	"github.com/joomcode/redispipe/redisconn"
)

// feed is the tracking connection of a node, and the next one when that is lost: it reads what is
// missing, and hears of changes. Both come in the order in which the server did them.
type feed struct {
	c        *core
	conn     backend.Conn
	addr     string
	protocol int           // of the results that callers get, 2 or 3
	term     time.Duration // of a lease
	ctx      context.Context
	cancel   context.CancelFunc

	// lease is what is read under: it is nil, or has run out, while nothing is known. It is
	// set after tracker, and read before it.
	lease   atomic.Pointer[memory.Lease]
	tracker atomic.Pointer[tracker]
	mu      sync.Mutex // is held while one of both is set, but by anew
}

// tracker is a tracking connection, which has one socket.
type tracker struct {
	conn  *redisconn.Connection
	inner backend.Conn
	local string // of the shared socket, before the tracker was made
	lost  bool   // guarded by the feed's lock
}

const (
	// A lease is renewed twice in its term, and that is half of IOTimeout.
	termsInTimeout = 2
	beatsInTerm    = 2
)

func (c *core) newFeed(conn *redisconn.Connection) *feed {
	within := backend.Of(conn)
	f := &feed{c: c, conn: within, addr: conn.Addr(), protocol: within.Speaks(), term: within.Silence() / termsInTimeout}
	f.ctx, f.cancel = context.WithCancel(c.ctx)
	go f.run()
	return f
}

// run is the feed's goroutine: it dials, renews the lease, and dials again. newFeed starts it; it
// ends with the feed's context.
func (f *feed) run() {
	for redial := (pause.Redial{}); f.ctx.Err() == nil; {
		began := time.Now()
		redial.Wait(f.ctx, began, f.serve())
	}
}

// serve makes a tracker, and looks after it until it ends. It returns false if it could not be
// made.
func (f *feed) serve() bool {
	began := memory.Now()
	t := &tracker{local: f.c.nodes.local()}
	made, err := f.conn.OpenTracking(f.ctx, f.told, func() { f.end(t) })
	if err != nil {
		return false
	}
	t.conn = made.(*redisconn.Connection)
	defer t.conn.Close()
	t.inner = backend.Of(t.conn)
	if !f.c.nodes.lead(f.ctx, t.conn) {
		return false
	}
	f.begin(t, began)
	defer f.end(t)
	ticker := time.NewTicker(f.term / beatsInTerm)
	defer ticker.Stop()
	for {
		f.endIfOutdated()
		f.ask(t)
		select {
		case <-t.conn.Ctx().Done():
			return true
		case <-ticker.C:
		}
	}
}

func (f *feed) begin(t *tracker, at memory.Instant) {
	l := new(memory.Lease)
	l.Renew(at + memory.Instant(f.term))
	f.mu.Lock()
	defer f.mu.Unlock()
	if t.lost || f.ctx.Err() != nil {
		return
	}
	f.tracker.Store(t)
	if !f.outdated(t) { // looked at behind that: a write that comes later ends it
		f.lease.Store(l)
	}
}

// end ends the lease of a tracker.
func (f *feed) end(t *tracker) {
	f.mu.Lock()
	defer f.mu.Unlock()
	t.lost = true
	if f.tracker.CompareAndSwap(t, nil) {
		f.lease.Swap(nil).End()
		f.c.sweepSoon()
	}
}

// anew ends the lease, and begins another one of the same tracker.
func (f *feed) anew() {
	for {
		old := f.lease.Load()
		if old == nil {
			return
		}
		l := new(memory.Lease)
		l.Renew(old.Until())
		if f.lease.CompareAndSwap(old, l) {
			old.End()
			f.c.sweepSoon()
			return
		}
	}
}

// ask asks the server whether it is still tracking. The answer says that it has told of all that
// was changed before it was asked.
func (f *feed) ask(t *tracker) {
	asked := memory.Now()
	t.conn.Send(redis.Req("CLIENT TRACKINGINFO"), send.Internal(func(res any, _ uint64) {
		if redis.OutcomeOf(res) == redis.OutcomeNotSent {
			return // the lease runs out, unless the server is asked the next time: the queue may be full, or draining
		}
		if !isTracking(res) {
			f.end(t)
			t.conn.Close()
			return
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		if l := f.lease.Load(); l != nil && f.tracker.Load() == t {
			l.Renew(asked + memory.Instant(f.term))
		}
	}), 0)
}

// isTracking judges what CLIENT TRACKINGINFO is answered with.
func isTracking(res any) bool {
	info, _ := res.(map[string]any)
	flags, err := redis.As[[]string](info["flags"])
	return err == nil && slices.Contains(flags, "on")
}

// told takes a push. It is called in any goroutine.
func (f *feed) told(p *redis.Push) {
	if string(p.Words[0]) != "invalidate" {
		return
	}
	keys, _ := p.Rest.([]any)
	if keys == nil { // all
		f.anew()
		return
	}
	for _, key := range keys {
		key, ok := key.([]byte)
		if !ok { // nobody knows what was changed
			f.anew()
			return
		}
		f.c.store.Changed(memory.HashOfBytes(key), memory.ByServer)
	}
}

// endIfOutdated ends the tracker, and the lease before that, if it is outdated.
func (f *feed) endIfOutdated() {
	if t := f.tracker.Load(); t != nil && f.outdated(t) {
		f.end(t)
		t.conn.Close()
	}
}

// outdated reports whether the shared connection has another socket than when the tracker was
// made, or none: the address may lead to another server by now.
func (f *feed) outdated(t *tracker) bool { return f.c.nodes.local() != t.local }

// close ends the feed, and its lease before it returns.
func (f *feed) close() {
	f.cancel()
	f.mu.Lock() // a tracker that begins is there, or sees that the feed has ended
	t := f.tracker.Load()
	f.mu.Unlock()
	if t != nil {
		f.end(t)
	}
}
