package rediscache

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/joomcode/redispipe/internal/backend"
	"github.com/joomcode/redispipe/internal/lifetime"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscache/internal/memory"
	"github.com/joomcode/redispipe/redisconn"
)

// feed keeps a tracking connection to a node: when it loses the connection, it opens another one. It reads
// missing replies and gets reports of changes, both in the order in which the server acted.
type feed struct {
	c        *core
	conn     backend.Conn
	addr     string
	protocol int           // the protocol of the callers' results, 2 or 3
	term     time.Duration // how long a lease lasts after it was renewed
	ctx      context.Context
	cancel   context.CancelFunc

	// lease is the lease for reads over the tracker. It is nil or expired while the tracker's state is
	// unknown. Set it after tracker, and read it before tracker.
	lease   atomic.Pointer[memory.Lease]
	tracker atomic.Pointer[tracker]
	mu      sync.Mutex // must be held to change lease or tracker, except in replaceLease
}

// tracker is a tracking connection. It has one socket, and ends with it.
type tracker struct {
	conn    *redisconn.Connection
	backend backend.Conn
	local   string // the local address of the shared socket when the tracker was opened
	role    string // the server's role; in a cluster "master"; empty until the server has reported it
	lost    bool   // the socket has ended; guarded by the feed's lock
}

const (
	// The feed renews a lease twice in its term, which is half of IOTimeout.
	termsInTimeout = 2
	beatsInTerm    = 2
)

func (c *core) newFeed(conn *redisconn.Connection) *feed {
	inner := backend.Of(conn)
	terms := inner.Terms()
	f := &feed{c: c, conn: inner, addr: conn.Addr(), protocol: terms.Protocol, term: terms.Silence / termsInTimeout}
	f.ctx, f.cancel = context.WithCancel(c.ctx)
	go f.run()
	return f
}

// run is the feed's goroutine: it dials, renews the lease, and dials again. newFeed starts it; it
// ends with the feed's context.
func (f *feed) run() {
	for redial := (lifetime.Redial{}); f.ctx.Err() == nil; {
		began := time.Now()
		redial.Wait(f.ctx, began, f.serve())
	}
}

// serve opens a tracker, and renews its lease until the tracker ends. It returns false if it could not
// open one.
func (f *feed) serve() bool {
	began := memory.Now()
	t := &tracker{local: f.c.nodes.local()}
	if f.c.nodes.one == nil {
		t.role = "master"
	}
	made, err := f.conn.OpenTracking(f.ctx, f.invalidate, func() { f.end(t) })
	if err != nil {
		return false
	}
	t.conn = made.(*redisconn.Connection)
	defer t.conn.Close()
	t.backend = backend.Of(t.conn)
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
	if !f.outdated(t) { // the tracker is already set, so if the socket changes after this check, nodes.check ends the lease
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

// replaceLease ends the lease, and starts another one with the same tracker: replies kept under the old
// lease are not served any more.
func (f *feed) replaceLease() {
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

// questions are the requests that the feed repeats: they ask for the server's role, and whether the server
// is still tracking.
var questions = []redis.Request{redis.Req("ROLE"), redis.Req("CLIENT TRACKINGINFO")}

// ask asks the server. The answers prove that the server has reported all earlier changes, unless its
// role has changed: a master that has lost its last slot becomes a replica, and then reports nothing.
func (f *feed) ask(t *tracker) {
	asked := memory.Now()
	t.conn.SendBatch(questions, send.Internal(func(res any, n uint64) {
		if n == 0 {
			if t.hasChanged(res) {
				f.end(t)
				t.conn.Close()
			}
			return
		}
		if redis.OutcomeOf(res) == redis.OutcomeNotSent {
			return // the queue may be full: ask again later, or let the lease expire
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

// hasChanged reports whether res, the answer to ROLE, shows that the server's role has changed. Only one
// goroutine may call it at a time.
func (t *tracker) hasChanged(res any) bool {
	answer, _ := res.([]any)
	if len(answer) == 0 {
		return false // the connection's user may not send ROLE
	}
	role, err := redis.As[string](answer[0])
	if err != nil {
		return false
	}
	if t.role == "" {
		t.role = role
	}
	return t.role != role
}

// isTracking reports whether the answer to CLIENT TRACKINGINFO confirms that the server is tracking.
func isTracking(res any) bool {
	info, _ := res.(map[string]any)
	flags, err := redis.As[[]string](info["flags"])
	return err == nil && slices.Contains(flags, "on")
}

// invalidate handles a push, which may report changed keys. It may be called in any goroutine.
func (f *feed) invalidate(p *redis.Push) {
	if string(p.Words[0]) != "invalidate" {
		return
	}
	keys, _ := p.Rest.([]any)
	if keys == nil { // all
		f.replaceLease()
		return
	}
	for _, key := range keys {
		key, ok := key.([]byte)
		if !ok { // the changed keys are unknown
			f.replaceLease()
			return
		}
		f.c.store.Changed(memory.HashOfBytes(key), memory.ByServer)
	}
}

// endIfOutdated ends the lease and closes the tracker if the tracker is outdated.
func (f *feed) endIfOutdated() {
	if t := f.tracker.Load(); t != nil && f.outdated(t) {
		f.end(t)
		t.conn.Close()
	}
}

// outdated reports whether the shared connection has no socket, or a different one than when the tracker
// was opened. The tracker may then lead to a different server than the shared connection. In a cluster
// outdated returns false.
func (f *feed) outdated(t *tracker) bool { return f.c.nodes.local() != t.local }

// close ends the feed. When it returns, the lease has ended.
func (f *feed) close() {
	f.cancel()
	f.mu.Lock() // under the lock, a new tracker is either already set or finds that the feed has ended
	t := f.tracker.Load()
	f.mu.Unlock()
	if t != nil {
		f.end(t)
	}
}
