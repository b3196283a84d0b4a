package topology

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/joomcode/errorx"
)

// Reports are what sentinels said last, and what follows from that.
type Reports struct {
	last    map[string]Report
	errs    map[string]*errorx.Error // of those that did not answer last
	layout  *Layout                  // nil before the first
	dispute *errorx.Error
}

// NewReports returns reports of nobody.
func NewReports() *Reports {
	return &Reports{last: make(map[string]Report), errs: make(map[string]*errorx.Error)}
}

// Layout returns what held when Judge was called last, nil before there is any.
func (s *Reports) Layout() *Layout { return s.layout }

// Disputed reports whether sentinels disagreed then.
func (s *Reports) Disputed() bool { return s.dispute != nil }

// Hear takes in what a sentinel says, or why it does not answer, and reports whether it
// answered before that.
func (s *Reports) Hear(addr string, r Report, failure *errorx.Error, now time.Time) (fails bool) {
	last, known := s.last[addr]
	if failure != nil {
		fails = s.errs[addr] == nil
		s.errs[addr] = failure
		if known && last.answers() {
			last.gone = now
			s.last[addr] = last
		}
		return fails
	}
	delete(s.errs, addr)
	if !r.tilt || !known || last.tilt { // else what it said before counts
		r.from = addr
		s.last[addr] = r
	}
	return false
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

// Failure says why there is no master of a name, by what each of the sentinels has
// answered; final reports whether it is useless to ask them again. seeds are those that
// were asked first.
func (s *Reports) Failure(name string, seeds []string) (err *errorx.Error, final bool) {
	if s.dispute != nil {
		return errorx.Decorate(s.dispute, "sentinels asked for the master %q", name), false
	}
	kind := ErrNoSentinel
	final = len(s.errs) > 0
	var said []string
	for _, addr := range slices.Sorted(maps.Keys(s.errs)) {
		e := s.errs[addr]
		said = append(said, fmt.Sprintf("%s: %s", addr, e.Error()))
		if e.IsOfType(ErrMasterUnknown) {
			kind = ErrMasterUnknown
		}
		if p := PermanentCause(e); p == nil {
			final = false
		} else if kind == ErrNoSentinel {
			kind = p.Type()
		}
	}
	for _, addr := range slices.Sorted(maps.Keys(s.last)) {
		if r := s.last[addr]; r.tilt {
			said, final = append(said, addr+": it is in TILT mode"), false
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

// Forget drops, and returns, the sentinels that do not answer, whose last word does not
// count, and that are no seeds and that none that answers names.
func (s *Reports) Forget(seeds []string, now time.Time) (dropped []string) {
	named := slices.Clone(seeds)
	for addr, r := range s.last {
		if r.answers() {
			named = append(append(named, addr), r.Others...)
		}
	}
	for addr := range s.errs {
		if r, answered := s.last[addr]; !slices.Contains(named, addr) && (!answered || r.outlived(s.last, now)) {
			delete(s.last, addr)
			delete(s.errs, addr)
			dropped = append(dropped, addr)
		}
	}
	return dropped
}
