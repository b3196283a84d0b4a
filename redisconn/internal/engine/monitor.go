package engine

import (
	"os"
	"time"

	"github.com/joomcode/redispipe/internal/sock"
	"github.com/joomcode/redispipe/internal/timing"
	"github.com/joomcode/redispipe/redis"
)

// Watch watches the session until it fails. When the context ends, Watch ends the session.
func (s *Session) Watch() {
	o := &s.p.opts
	every, beats := o.ticks()
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	progress := sock.Progress{Since: time.Now()}
	ran := ran{last: progress.Since, every: every}
	for tick := 1; ; tick++ {
		select {
		case <-s.failed:
			return
		case <-o.Ctx.Done():
			s.fail(sock.Closed(o.Ctx))
			return
		case <-ticker.C:
			now := time.Now()
			if !ran.until(now) {
				ticker.Reset(every)
				continue
			}
			if !s.tick(tick, beats, now, &progress) {
				return
			}
		}
	}
}

// tick does the work of Watch at one tick. It returns false if it has failed the session. It keeps its
// variables off the stack of Watch, which sleeps most of the time: the runtime shrinks that stack.
func (s *Session) tick(tick, beats int, now time.Time, progress *sock.Progress) bool {
	oldest, waits := s.p.queue.oldest()
	patience := timing.Plus(s.p.timeout(now), oldest.blocks)
	if waits && s.p.opts.Timeout > 0 && progress.Stalled(now, oldest.taken, s.mark(oldest), s.Socket.Received(), patience) {
		s.fail(redis.ErrIO.Wrap(os.ErrDeadlineExceeded, "no answer within %v", patience))
		return false
	}
	if tick%2 == 0 && s.p.queue.trim() {
		s.NoteIdle()
	}
	if beats > 0 && tick%beats == 0 {
		s.beats.beat()
	}
	return true
}

// relaxedLeast is the least time-out during the maintenance of a server.
const relaxedLeast = 10 * time.Second

// Relax raises the time-out of requests to at least relaxedLeast for the time long, because the server has
// announced that it may be slow.
func (p *Pipe) Relax(long time.Duration) { p.relaxed.Store(time.Now().Add(long).UnixNano()) }

// timeout returns how long written requests may go unanswered.
func (p *Pipe) timeout(now time.Time) time.Duration {
	if now.UnixNano() < p.relaxed.Load() {
		return max(p.opts.Timeout, relaxedLeast)
	}
	return p.opts.Timeout
}

// ran notes whether this process has run recently. If the process was stopped or had no processor,
// replies may wait to be read, so silence says nothing about the server yet.
type ran struct {
	last  time.Time // the time of the last call of the method until
	every time.Duration
	late  int // how many of the last calls of until, in a row, returned false
}

// mostLate is how many times in a row a session is not judged because this process has not run.
// Even a process that hardly ever runs must notice that a server is gone.
const mostLate = 6

// until reports whether the process has been running since the last call. Call it at intervals of
// every.
func (r *ran) until(now time.Time) bool {
	if now.Sub(r.last) > 2*r.every && r.late < mostLate {
		r.late++
	} else {
		r.late = 0
	}
	r.last = now
	return r.late == 0
}

// mark returns the progress of the requests in flight. oldest is the oldest of them.
func (s *Session) mark(oldest oldest) sock.Mark {
	m := sock.Mark{Answered: oldest.seq + s.held.Load()}
	if oldest.writing {
		m.Taken = 1 + s.taken.Load()
	}
	return m
}
