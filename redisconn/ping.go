package redisconn

import (
	"sync/atomic"
	"time"

	"github.com/joomcode/redispipe/redis"
)

// heartbeat sends a PING with a nonce now and then. A wrong echo means that
// replies and requests have come out of step, and ends the session.
type heartbeat struct {
	s       *session
	waiting atomic.Bool // one at a time
	nonce   nonce
	sent    time.Time
}

// beat sends the next one, unless the last is not answered yet.
func (h *heartbeat) beat() {
	if h.waiting.Load() {
		return
	}
	h.nonce, h.sent = newNonce(), time.Now()
	h.waiting.Store(true)
	h.s.c.Send(redis.Req("PING", h.nonce[:]), h, 0)
}

// Resolve implements redis.Future.
func (h *heartbeat) Resolve(res any, _ uint64) {
	defer h.waiting.Store(false)
	if h.nonce.is(res) {
		h.s.c.measured(time.Since(h.sent))
		return
	}
	if err := redis.AsErrorx(res); err != nil {
		if !err.IsOfType(redis.ErrResult) || pingRefused(err) {
			return // not answered, or the server has no echo to give
		}
	}
	h.s.fail(redis.ErrPing.New("a heartbeat was answered with something else"))
}

// Cancelled implements redis.Future.
func (h *heartbeat) Cancelled() error { return nil }

// misdirected reports whether res is the echo that the heartbeat waits for, though
// another future is about to get it.
func (h *heartbeat) misdirected(res any, fut Future) bool {
	return h.waiting.Load() && h.nonce.is(res) && fut != Future(h)
}
