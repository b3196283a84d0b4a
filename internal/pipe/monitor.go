package pipe

import (
	"os"
	"time"

	"github.com/joomcode/redispipe/internal/peer"
	"github.com/joomcode/redispipe/internal/sock"
	"github.com/joomcode/redispipe/internal/timing"
	"github.com/joomcode/redispipe/redis"
)

// Watch watches the session until it fails, or ends it when the context ends.
func (s *Session) Watch() {
	o := &s.p.opts
	ticker := time.NewTicker(max(o.Heartbeats/6, time.Millisecond))
	defer ticker.Stop()
	progress := sock.Progress{Since: time.Now()}
	var served served
	for tick := 1; ; tick++ {
		select {
		case <-s.failed:
			return
		case <-o.Ctx.Done():
			s.Fail(peer.Closed(o.Ctx))
			return
		case now := <-ticker.C:
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
