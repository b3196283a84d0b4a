package rediscache

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/joomcode/redispipe/internal/inner"
	"github.com/joomcode/redispipe/internal/pause"
	"github.com/joomcode/redispipe/internal/push"
	"github.com/joomcode/redispipe/redis"
)

// feed is the tracking socket of a node, and the next one when that is lost: it reads what is
// missing, and hears of changes. Both come in the order in which the server did them.
type feed struct {
	c    *core
	conn inner.Conn
	addr string
	// protocol is that of the results that callers get, 2 or 3.
	protocol int
	term     time.Duration // of a lease
	ctx      context.Context
	cancel   context.CancelFunc
	// lease is what is read under; it has run out, or is nil, while there is no socket.
	lease atomic.Pointer[lease]

	mu      sync.Mutex // guards what follows
	sock    *push.Socket
	local   string // of the shared socket, before sock was made
	pending []question
}

// question is what a tracking socket was asked, in order: for an entry, or if that is nil
// whether it is still tracking, at a time.
type question struct {
	entry *entry
	asked instant
}

const (
	// A lease is renewed twice in its term, and that is half of IOTimeout.
	termsInTimeout = 2
	beatsInTerm    = 2
	// pendingMost is how many reads wait on a tracking socket at most; what is more is read as
	// if there was no cache.
	pendingMost = 1 << 14

	pauseFirst   = 20 * time.Millisecond
	pauseLongest = 500 * time.Millisecond
	usefulLeast  = 100 * time.Millisecond
)

func (c *core) newFeed(node node) *feed {
	f := &feed{c: c, conn: node.conn, addr: node.addr, protocol: node.conn.Speaks(), term: node.conn.Silence() / termsInTimeout}
	f.ctx, f.cancel = context.WithCancel(c.ctx)
	go f.run()
	return f
}

// run is the feed's goroutine: it dials, receives, and dials again. newFeed starts it; it ends
// with the feed's context.
func (f *feed) run() {
	for failures := 0; f.ctx.Err() == nil; {
		began := time.Now()
		local := f.c.nodes.local()
		sock, err := f.conn.OpenTracking(f.ctx)
		if err == nil {
			f.serve(sock, local, instantOf(began))
		}
		if err == nil && time.Since(began) >= usefulLeast {
			failures = 0
			continue
		}
		failures++
		_, _ = pause.For(f.ctx, rand.N(pause.Doubled(pauseFirst, pauseLongest, failures)), nil)
	}
}

// serve receives until the socket ends.
func (f *feed) serve(sock *push.Socket, local string, began instant) {
	defer context.AfterFunc(f.ctx, sock.Close)()
	l := new(lease)
	l.renew(began + instant(f.term))
	f.mu.Lock()
	f.sock, f.local = sock, local
	f.lease.Store(l)
	f.mu.Unlock()
	sock.OnEnd(func() { f.endLease(sock) })
	go f.beat(sock)
	f.receive(sock)
	sock.Close()
	f.endLease(sock)
	f.mu.Lock()
	left := f.pending
	f.sock, f.pending = nil, nil
	f.mu.Unlock()
	for _, q := range left {
		if q.entry != nil {
			f.c.readElsewhere(q.entry)
		}
	}
	f.c.sweepSoon()
}

// endLease ends the lease of a socket, if that is still the feed's.
func (f *feed) endLease(sock *push.Socket) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.sock == sock {
		f.lease.Swap(nil).end()
	}
}

// anew ends the lease, and begins another one on the same socket.
func (f *feed) anew() {
	for {
		old := f.lease.Load()
		if old == nil || old.ended() {
			return
		}
		l := new(lease)
		l.until.Store(old.until.Load())
		if f.lease.CompareAndSwap(old, l) {
			old.end()
			f.c.sweepSoon()
			return
		}
	}
}

// beat is the goroutine that asks a socket whether it is still tracking. serve starts it; it ends
// with the socket.
func (f *feed) beat(sock *push.Socket) {
	ticker := time.NewTicker(f.term / beatsInTerm)
	defer ticker.Stop()
	encoded, _ := redis.AppendRequest(nil, redis.Req("CLIENT TRACKINGINFO"))
	for {
		f.renewIfOutdated()
		f.ask(encoded, question{asked: now()})
		select {
		case <-sock.Done():
			return
		case <-ticker.C:
		}
	}
}

// ask sends requests. It reports whether there is a socket that takes them; the answers come to
// answer then, or the reads go elsewhere.
func (f *feed) ask(encoded []byte, qs ...question) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.sock == nil || len(f.pending) >= pendingMost {
		return false
	}
	f.pending = append(f.pending, qs...)
	_ = f.sock.SendEncoded(encoded) // fails with the socket only: serve has what is pending
	return true
}

// receive takes what comes, until the socket ends.
func (f *feed) receive(sock *push.Socket) {
	var push redis.Push
	for {
		reply, pushed, err := sock.Receive(&push)
		switch {
		case err != nil:
			return
		case pushed:
			f.told(&push)
		default:
			if !f.answer(reply) {
				return
			}
		}
	}
}

// told takes a push.
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
		if key, ok := key.([]byte); ok {
			f.c.store.changed(hashOf(key), byServer)
		}
	}
}

// answer takes a reply. It returns false if the socket is of no more use.
func (f *feed) answer(reply any) bool {
	f.mu.Lock()
	if len(f.pending) == 0 {
		f.mu.Unlock()
		return false
	}
	q := f.pending[0]
	f.pending = f.pending[1:]
	f.mu.Unlock()
	if q.entry == nil {
		return f.confirmed(reply, q.asked)
	}
	f.c.answered(q.entry, reply, f)
	return true
}

// confirmed takes the answer of a server that was asked whether it is tracking.
func (f *feed) confirmed(reply any, asked instant) bool {
	info, _ := reply.(map[string]any)
	flags, _ := info["flags"].([]any)
	isOn := slices.ContainsFunc(flags, func(flag any) bool {
		text, _ := redis.As[string](flag)
		return text == "on"
	})
	if !isOn {
		return false
	}
	if l := f.lease.Load(); l != nil {
		l.renew(asked + instant(f.term))
	}
	return true
}

// outdated reports whether the shared connection has another socket than when the tracking
// socket was made: the address may lead to another server by now.
func (f *feed) outdated() bool {
	local := f.c.nodes.local()
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.sock != nil && local != "" && local != f.local
}

// renewIfOutdated ends the lease, and the socket, if they may be of another server than the one
// that has answered a write.
func (f *feed) renewIfOutdated() {
	if !f.outdated() {
		return
	}
	f.mu.Lock()
	sock := f.sock
	f.mu.Unlock()
	if sock != nil {
		f.endLease(sock)
		sock.Close()
	}
}

// close ends the feed.
func (f *feed) close() {
	f.cancel()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lease.Swap(nil).end()
}
