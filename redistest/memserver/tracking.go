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
	turn  *sync.Mutex // Server.turn
	mu    sync.Mutex  // guards peers
	peers map[*server.Peer]bool
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
	s.tracking = &tracking{turn: &s.turn, peers: map[*server.Peer]bool{}}
	return s.tracking.invalidate
}

// answer answers a command about tracking. For other commands it returns false.
func (t *tracking) answer(p *server.Peer, cmd string, args ...string) bool {
	if cmd != "CLIENT" || len(args) == 0 {
		return false
	}
	switch sub := strings.ToUpper(args[0]); {
	case sub == "TRACKING" && len(args) == 2:
		t.set(p, args[1])
	case sub == "TRACKINGINFO" && len(args) == 1:
		t.inform(p)
	default:
		return false
	}
	return true
}

func (t *tracking) set(p *server.Peer, how string) {
	on := strings.EqualFold(how, "ON")
	switch {
	case !on && !strings.EqualFold(how, "OFF"):
		p.WriteError("ERR syntax error")
		return
	case on && !p.Resp3:
		p.WriteError("ERR this server tracks keys only with RESP3")
		return
	case on && !t.has(p):
		p.OnDisconnect(func() { t.put(p, false) })
	}
	t.put(p, on)
	p.WriteOK()
}

func (t *tracking) inform(p *server.Peer) {
	flag := map[bool]string{true: "on", false: "off"}[t.has(p)]
	p.Block(func(w *server.Writer) {
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

func (t *tracking) has(p *server.Peer) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.peers[p]
}

func (t *tracking) put(p *server.Peer, on bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if on {
		t.peers[p] = true
	} else {
		delete(t.peers, p)
	}
}

func (t *tracking) invalidate(keys ...string) {
	t.mu.Lock()
	peers := slices.Collect(maps.Keys(t.peers))
	t.mu.Unlock()
	t.turn.Lock() // like commands that answer, because a push must not arrive within a reply
	for _, p := range peers {
		p.Block(func(w *server.Writer) {
			w.WritePushLen(2)
			w.WriteBulk("invalidate")
			if len(keys) == 0 {
				w.WriteNull()
			} else {
				w.WriteStrings(keys)
			}
		})
	}
	t.turn.Unlock()
	for _, p := range peers {
		p.Flush()
	}
}
