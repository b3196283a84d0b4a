package engine

import (
	"github.com/joomcode/redispipe/internal/sock"
	"github.com/joomcode/redispipe/redis"
)

// RunID implements send.Process.
func (s *Session) RunID() *string { return s.runID.Load() }

// AskRunID implements send.Process. If the server's ACL forbids the question, the run ID is "".
// With Opts.Script it asks nothing and returns an error, because the question could get into a
// user's transaction.
func (s *Session) AskRunID(done func(error)) {
	switch {
	case s.RunID() != nil:
		done(nil)
		return
	case s.p.opts.Script:
		done(redis.ErrCommandForbidden.New("the library sends no requests of its own with ScriptMode"))
		return
	}
	s.p.SendInternal(s, redis.Req("INFO", "server"), func(res any, _ uint64) {
		if err := redis.AsErrorx(res); err != nil && !sock.RefusedForGood(err) {
			done(err)
			return
		}
		id := sock.RunID(res)
		s.runID.Store(&id)
		done(nil)
	})
}
