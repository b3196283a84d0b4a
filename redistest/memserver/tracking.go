package memserver

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/alicebob/miniredis/v2/server"
)

// tracking holds the connections with CLIENT TRACKING on.
type tracking struct {
	mu    sync.Mutex // guards conns
	conns map[*conn]bool
}

// Track makes the server answer CLIENT TRACKING, so that a cache (package rediscache) keeps the replies
// that it reads from then on. The server never reports a change by itself: call invalidate to tell all
// tracking connections that keys were changed or, without arguments, that all were. invalidate returns
// when the message is written; the cache handles it a moment later.
//
// Call Track once. [Server.SetError] ends tracking: the cache drops its entries within half
// of its connection's IOTimeout, and then forwards all reads.
func (s *Server) Track() (invalidate func(keys ...string)) {
	s.turn.Lock()
	defer s.turn.Unlock()
	s.tracking = &tracking{conns: map[*conn]bool{}}
	return s.tracking.invalidate
}

// answer answers a command about tracking. For other commands it returns false.
func (t *tracking) answer(c *conn, cmd string, args ...string) bool {
	if cmd != "CLIENT" || len(args) == 0 {
		return false
	}
	switch sub := strings.ToUpper(args[0]); {
	case sub == "TRACKING" && len(args) == 2:
		t.set(c, args[1])
	case sub == "TRACKINGINFO" && len(args) == 1:
		t.inform(c)
	default:
		return false
	}
	return true
}

func (t *tracking) set(c *conn, how string) {
	p := c.peer
	on := strings.EqualFold(how, "ON")
	switch {
	case !on && !strings.EqualFold(how, "OFF"):
		p.WriteError("ERR syntax error")
		return
	case on && !p.Resp3:
		p.WriteError("ERR this server tracks keys only with RESP3")
		return
	case on && !t.has(c):
		p.OnDisconnect(func() { t.put(c, false) })
	}
	t.put(c, on)
	p.WriteOK()
}

func (t *tracking) inform(c *conn) {
	flag := map[bool]string{true: "on", false: "off"}[t.has(c)]
	c.peer.Block(func(w *server.Writer) {
		w.WriteMapLen(3)
		w.WriteBulk("flags")
		w.WriteSetLen(1)
		w.WriteBulk(flag)
		w.WriteBulk("redirect")
		w.WriteInt(0)
		w.WriteBulk("prefixes")
		w.WriteLen(0)
	})
}

func (t *tracking) has(c *conn) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.conns[c]
}

func (t *tracking) put(c *conn, on bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if on {
		t.conns[c] = true
	} else {
		delete(t.conns, c)
	}
}

func (t *tracking) invalidate(keys ...string) {
	t.mu.Lock()
	conns := slices.Collect(maps.Keys(t.conns))
	t.mu.Unlock()
	var all sync.WaitGroup
	for _, c := range conns {
		all.Go(func() { c.invalidate(keys) })
	}
	all.Wait()
}

// invalidate writes a push about changed keys. If a command is being answered, it waits until the reply is written.
func (c *conn) invalidate(keys []string) {
	c.writing.Lock()
	defer c.writing.Unlock()
	c.peer.Block(func(w *server.Writer) {
		w.WritePushLen(2)
		w.WriteBulk("invalidate")
		if len(keys) == 0 {
			w.WriteNull()
		} else {
			w.WriteStrings(keys)
		}
	})
	c.peer.Flush()
}
