package topology

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/joomcode/errorx"
)

// Reports are what sentinels said last, and what follows from that.
type Reports struct {
	last    map[string]Report
	layout  *Layout // nil before the first
	dispute *errorx.Error
}

// NewReports returns reports of nobody.
func NewReports() *Reports {
	return &Reports{last: make(map[string]Report)}
}

// Layout returns what held when Judge was called last, nil before there is any.
func (s *Reports) Layout() *Layout { return s.layout }

// Hear takes in what a sentinel says, or why it does not answer, and reports whether it
// answered before that.
func (s *Reports) Hear(addr string, r Report, failure *errorx.Error, now time.Time) (fails bool) {
	last := s.last[addr]
	switch {
	case failure != nil:
		fails = last.err == nil
		if last.answers() {
			last.silentSince = now
		}
	case !r.tilt || last.master == "" || last.tilt: // else what it said before counts
		last = r
	}
	last.from, last.err = addr, failure
	s.last[addr] = last
	return fails
}

// Judge reports whether there is another layout, and returns the error of a dispute that
// has begun.
func (s *Reports) Judge(now time.Time) (changed bool, dispute *errorx.Error) {
	present := ""
	if s.layout != nil {
		present = s.layout.Shards[0].Master
	}
	l, disagree := judge(s.last, present, now)
	if s.dispute == nil {
		dispute = disagree
	}
	s.dispute = disagree
	if l == nil || s.layout != nil && l.Equal(s.layout) {
		return false, dispute
	}
	s.layout = l
	return true, dispute
}

// Failure returns an error that says, with the answer of each sentinel, why there is no master
// of that name; nil if there is one. final is set if it is useless to ask again. seeds are the
// sentinels that were asked first.
func (s *Reports) Failure(name string, seeds []string) (err *errorx.Error, final bool) {
	switch {
	case s.dispute != nil:
		return errorx.Decorate(s.dispute, "sentinels asked for the master %q", name), false
	case s.layout != nil:
		return nil, false
	}
	kind := ErrNoSentinel
	final = len(s.last) > 0
	var said []string
	for _, addr := range slices.Sorted(maps.Keys(s.last)) {
		r := s.last[addr]
		switch {
		case r.err != nil:
			said = append(said, addr+": "+r.err.Error())
		case r.tilt:
			said = append(said, addr+": it is in TILT mode")
		}
		if r.err != nil && r.err.IsOfType(ErrMasterUnknown) {
			kind = ErrMasterUnknown
		}
		if p := PermanentCause(r.err); p == nil || r.tilt {
			final = false
		} else if kind == ErrNoSentinel {
			kind = p.Type()
		}
	}
	if !final && kind != ErrMasterUnknown {
		kind = ErrNoSentinel
	}
	if len(said) == 0 {
		said = []string{"no answer in time from " + strings.Join(seeds, ", ")}
	}
	return kind.New("sentinels asked for the master %q: %s", name, strings.Join(said, "; ")), final
}

// Forget drops, and returns, the sentinels that do not answer, if they are no seeds, no
// sentinel that answers names them, and their last report does not count.
func (s *Reports) Forget(seeds []string, now time.Time) (dropped []string) {
	named := slices.Clone(seeds)
	for addr, r := range s.last {
		if r.answers() {
			named = append(append(named, addr), r.Others...)
		}
	}
	for addr, r := range s.last {
		if r.err != nil && !slices.Contains(named, addr) && (r.master == "" || r.superseded(s.last, now)) {
			delete(s.last, addr)
			dropped = append(dropped, addr)
		}
	}
	return dropped
}
