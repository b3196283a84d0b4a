package redisconn

import (
	"strings"
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

// pingRefused reports whether a server that is sane may answer PING so. MISCONF is
// how it says that it can't write to its disk; it goes on answering reads.
func pingRefused(res any) bool {
	err := redis.AsErrorx(res)
	if err == nil || !err.IsOfType(redis.ErrResult) {
		return false
	}
	if err.HasTrait(redis.ErrTraitTransient) {
		return true
	}
	text := err.Message()
	for _, code := range []string{"NOPERM", "NOAUTH", "MISCONF"} {
		if strings.HasPrefix(text, code) {
			return true
		}
	}
	return false
}

// measured takes a round trip into the smoothed latency.
func (c *Connection) measured(trip time.Duration) {
	trip = min(trip, PingMaxLatency)
	if old := time.Duration(c.latency.Load()); old > 0 {
		trip = (7*old + trip) / 8
	}
	c.latency.Store(int64(trip))
}
