package pipe

import (
	"sync/atomic"
	"time"

	"github.com/joomcode/redispipe/internal/peer"
	"github.com/joomcode/redispipe/redis"
)

// heartbeat sends a PING with a nonce at intervals. A wrong echo means that replies are
// out of step with requests, and ends the session.
type heartbeat struct {
	s       *Session
	waiting atomic.Bool // one at a time
	nonce   peer.Nonce  // not changed while waiting
	sent    time.Time
}

// beat sends the next one, unless the last is not answered yet.
func (h *heartbeat) beat() {
	if h.waiting.Load() {
		return
	}
	h.nonce, h.sent = peer.NewNonce(), time.Now()
	h.waiting.Store(true)
	h.s.p.SendOwn(h.s, redis.Req("PING", h.nonce[:]), h.answered)
}

func (h *heartbeat) answered(res any, _ uint64) {
	defer h.waiting.Store(false)
	if h.nonce.Is(res) {
		h.s.p.opts.Measured(time.Since(h.sent))
		return
	}
	if err := redis.AsErrorx(res); err != nil {
		if !err.IsOfType(redis.ErrResult) || peer.PingRefused(err) {
			return // not answered, or the server has no echo to give
		}
	}
	h.s.Fail(redis.ErrPing.New("a heartbeat was answered with something else"))
}

// misdirected reports whether res is the echo that the heartbeat waits for, while a
// user's request is about to get it.
func (h *heartbeat) misdirected(res any, own bool) bool {
	return h.waiting.Load() && !own && h.nonce.Is(res)
}
