package engine

import (
	"math"
	"time"

	"github.com/joomcode/redispipe/internal/sock"
	"github.com/joomcode/redispipe/redis"
)

// ticks returns the interval of checks, and the number of checks per heartbeat, or 0 for no
// heartbeats.
func (o *Opts) ticks() (every time.Duration, beats int) {
	every = o.Silence / 6
	switch {
	case o.Script, o.Heartbeat < 0:
	case o.Heartbeat == 0:
		beats = 2
	case o.Heartbeat < every:
		every, beats = o.Heartbeat, 1
	default:
		beats = int(min(o.Heartbeat/max(every, 1), math.MaxInt32))
	}
	return max(every, time.Millisecond), beats
}

// beat sends the next PING, unless the last one is unanswered.
func (h *heartbeat) beat() {
	if h.waiting.Load() {
		return
	}
	h.nonce, h.sent = sock.NewNonce(), time.Now()
	h.waiting.Store(true)
	h.s.p.SendInternal(h.s, h.s.Peer.Ping(&h.nonce), h.answered)
}

func (h *heartbeat) answered(res any, _ uint64) {
	defer h.waiting.Store(false)
	if h.s.Peer.Pinged(&h.nonce, res) {
		h.s.p.opts.Measured(time.Since(h.sent))
		return
	}
	if err := redis.AsErrorx(res); err != nil {
		if !err.IsOfType(redis.ErrResult) || sock.PingRefused(err) {
			return // the heartbeat failed, or the server does not echo
		}
	}
	h.s.fail(redis.ErrPing.New("unexpected answer to a heartbeat"))
}
