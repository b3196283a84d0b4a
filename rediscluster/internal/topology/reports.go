package topology

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/errs"
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

// Layout returns the layout that Judge has found last, nil before there is one.
func (s *Reports) Layout() *Layout { return s.layout }

// Hear notes what a sentinel says, or why it does not answer. It reports whether the sentinel
// has answered until now, and does not any more.
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
		if p := errs.PermanentCause(r.err); p == nil || r.tilt {
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

// supersededAfter is how long the last report of a sentinel that does not answer counts
// against a majority that says something else. Sentinels tell each other of an epoch every 2 s.
const supersededAfter = 10 * time.Second

// superseded reports whether r, the last report of a sentinel that does not answer, no longer
// counts, since a majority has reported something else for long enough. Without this rule,
// newly installed sentinels, which begin with epoch 0, would never count, and neither would a
// majority that does not know an epoch which only the lost sentinel knew. Where the quorum is
// 2 or more, a single new sentinel that knows no other is no majority.
func (r Report) superseded(reports map[string]Report, now time.Time) bool {
	if r.answers() || now.Sub(r.silentSince) < supersededAfter {
		return false
	}
	for _, other := range reports {
		if other.answers() && !other.tilt && other.hasMajority(reports) {
			return true
		}
	}
	return false
}

// hasMajority reports whether most of the sentinels that this one knows, and as many as
// its quorum, say the same now.
func (r Report) hasMajority(reports map[string]Report) bool {
	agree := 1
	for _, addr := range r.Others {
		if other := reports[addr]; other.answers() && !other.tilt && other.same(r) && other.epoch == r.epoch {
			agree++
		}
	}
	return r.quorum > 0 && agree >= r.quorum && 2*agree > len(r.Others)+1
}

// judge makes a layout of the last reports of all sentinels, until they are superseded: the
// master is the one with the greatest epoch, so that a sentinel that comes back with an old
// report never moves the client back. Of two masters with the same epoch, or of two addresses of
// one, the present one stays as long as a sentinel names it. It returns nil if no sentinel names
// a master.
func judge(reports map[string]Report, present string, now time.Time) (*Layout, *errorx.Error) {
	var best []Report
	for _, addr := range slices.Sorted(maps.Keys(reports)) {
		r := reports[addr]
		switch {
		case r.tilt || r.master == "" || r.superseded(reports, now):
		case len(best) == 0 || r.epoch > best[0].epoch:
			best = []Report{r}
		case r.epoch == best[0].epoch:
			best = append(best, r)
		}
	}
	if len(best) == 0 {
		return nil, nil
	}
	at := max(slices.IndexFunc(best, func(r Report) bool { return r.master == present }), 0)
	master := best[at]
	if !slices.ContainsFunc(best, func(r Report) bool { return !r.same(master) }) {
		return oneShard(master.master, replicasOf(master.master, best)), nil
	}
	named := make(map[string][]string) // sentinels by the address that they name
	for _, r := range best {
		named[r.master] = append(named[r.master], r.from)
	}
	var said []string
	for _, m := range slices.Sorted(maps.Keys(named)) {
		said = append(said, fmt.Sprintf("%s by %s", m, strings.Join(named[m], ", ")))
	}
	dispute := ErrSentinelsDisagree.New("several are named as the master of epoch %d: %s", master.epoch, strings.Join(said, "; "))
	if master.master != present {
		return nil, dispute
	}
	return oneShard(present, replicasOf(present, best)), dispute
}

// replicasOf merges the replicas that the sentinels report, by those that answer. If none
// does, the first report counts.
func replicasOf(master string, reports []Report) (replicas []string) {
	heard := slices.DeleteFunc(slices.Clone(reports), func(r Report) bool { return !r.answers() })
	if len(heard) == 0 {
		heard = reports[:1]
	}
	for _, r := range heard {
		for _, addr := range r.replicas {
			if r.master == master && !slices.Contains(replicas, addr) {
				replicas = append(replicas, addr)
			}
		}
	}
	slices.Sort(replicas)
	return replicas
}
