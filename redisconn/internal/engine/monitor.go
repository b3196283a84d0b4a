package engine

import (
	"os"
	"sync/atomic"
	"time"

	"github.com/joomcode/redispipe/internal/sock"
	"github.com/joomcode/redispipe/internal/timing"
	"github.com/joomcode/redispipe/redis"
)

// Watch watches the session until it fails, or ends it when the context ends.
func (s *Session) Watch() {
	o := &s.p.opts
	every := max(o.Heartbeats/6, time.Millisecond)
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	progress := sock.Progress{Since: time.Now()}
	ran := ran{last: progress.Since, every: every}
	var served served
	for tick := 1; ; tick++ {
		select {
		case <-s.failed:
			return
		case <-o.Ctx.Done():
			s.Fail(sock.Closed(o.Ctx))
			return
		case <-ticker.C:
			now := time.Now()
			if !ran.until(now) {
				ticker.Reset(every)
				continue
			}
			oldest, waits := s.p.queue.Oldest()
			if o.Script && waits {
				oldest.Taken = served.since(now, oldest.Seq)
			}
			patience := timing.Plus(o.Timeout, oldest.Blocks)
			if waits && o.Timeout > 0 && progress.Stalled(now, oldest.Taken, s.Socket.Received(), patience) {
				s.Fail(redis.ErrIO.Wrap(os.ErrDeadlineExceeded, "no answer within %v", patience))
				return
			}
			if tick%2 != 0 {
				continue
			}
			if s.p.queue.Trim() {
				s.NoteIdle()
			}
			if !o.Script {
				s.beats.beat()
			}
		}
	}
}

// ran knows whether this process has run lately. If it was stopped, or had no processor, what
// has come meanwhile waits to be read, and says nothing about the server yet.
type ran struct {
	last  time.Time // when it was asked last
	every time.Duration
	late  int // how many times in a row it has said no
}

// mostLate is how many times in a row a session is not judged, since this process has not run:
// even one that hardly ever runs has to notice that a server has gone.
const mostLate = 6

// until reports whether the process has run until now, when it is asked at intervals of every.
func (r *ran) until(now time.Time) bool {
	if now.Sub(r.last) > 2*r.every && r.late < mostLate {
		r.late++
	} else {
		r.late = 0
	}
	r.last = now
	return r.late == 0
}

// served says since when the oldest batch has been the oldest, as far as the calls of
// since show. Before that, the server may have blocked on an earlier one.
type served struct {
	seq uint64
	at  time.Time
}

// since returns that time for the batch whose first request has the number seq.
func (v *served) since(now time.Time, seq uint64) time.Time {
	if v.at.IsZero() || seq != v.seq {
		v.seq, v.at = seq, now
	}
	return v.at
}

// heartbeat sends a PING with a nonce at intervals. A wrong echo means that replies are
// out of step with requests, and ends the session.
type heartbeat struct {
	s       *Session
	waiting atomic.Bool // one at a time
	nonce   sock.Nonce  // not changed while waiting
	sent    time.Time
}

// beat sends the next one, unless the last is not answered yet.
func (h *heartbeat) beat() {
	if h.waiting.Load() {
		return
	}
	h.nonce, h.sent = sock.NewNonce(), time.Now()
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
		if !err.IsOfType(redis.ErrResult) || sock.PingRefused(err) {
			return // not answered, or the server has no echo to give
		}
	}
	h.s.Fail(redis.ErrPing.New("a heartbeat was answered with something else"))
}
