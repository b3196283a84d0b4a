package memserver

import (
	"strconv"
	"time"
)

// clock holds how far the server's time is ahead of the time of the process.
type clock struct {
	ahead time.Duration
	set   time.Time // the time that miniredis was last set to
}

// Advance moves the server's clock forward by d. Keys and fields expire, pending entries of streams
// get older, and blocking commands time out.
func (s *Server) Advance(d time.Duration) {
	s.turn.Lock()
	defer s.turn.Unlock()
	before := time.Now().Truncate(time.Microsecond)
	now, ok := s.time()
	switch {
	case s.clock.ahead > 0 && s.unchanged(), s.clock.ahead == 0 && (!ok || !now.Before(before) && !now.After(time.Now())):
		s.clock.ahead += d
		s.setTime(time.Now().Add(s.clock.ahead))
	default: // the test has set a time, which does not advance by itself
		s.clock.ahead = 0
		s.setTime(now.Add(d))
	}
	s.mini.DB(0) // makes keys expire
	s.serve()
}

// tick sets the time of miniredis, unless it is right or the test has set a time.
func (s *Server) tick() {
	if s.clock.ahead == 0 {
		return
	}
	if s.unchanged() {
		s.setTime(time.Now().Add(s.clock.ahead))
	} else {
		s.clock.ahead = 0
	}
}

func (s *Server) setTime(now time.Time) {
	s.clock.set = now
	s.mini.SetTime(now)
}

// unchanged reports whether miniredis still has the time that tick has set.
func (s *Server) unchanged() bool {
	now, ok := s.time()
	return !ok || now.Equal(s.clock.set.Truncate(time.Microsecond))
}

func (s *Server) now() time.Time { return time.Now().Add(s.clock.ahead) }

// time returns the time of miniredis, unless miniredis requires a password.
func (s *Server) time() (now time.Time, ok bool) {
	var ctx any
	return timeOf(parse(s.ask(&ctx, "TIME")))
}

// timeOf returns the time in a reply to TIME.
func timeOf(pair any, err error) (now time.Time, ok bool) {
	parts, _ := pair.([]any)
	if err != nil || len(parts) != 2 {
		return time.Time{}, false
	}
	seconds, _ := strconv.ParseInt(parts[0].(string), 10, 64)
	micros, _ := strconv.ParseInt(parts[1].(string), 10, 64)
	return time.Unix(seconds, micros*1000), true
}
