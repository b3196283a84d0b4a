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

// Reports are the last reports of sentinels, and the conclusions from them.
type Reports struct {
	// seeds holds the addresses of sentinels that the user gave, and refuse is Opts.RefuseStrangers.
	seeds  []string
	refuse bool

	last    map[string]Report // the last report of each sentinel, by address
	others  map[string]Report // reports of other sentinels at the same addresses, by ID: see displace
	layout  *Layout           // nil until Judge has found a master
	dispute *errorx.Error

	// chosen holds the trusted reports. They are of sentinels that know each other.
	chosen []Report
	// known holds the IDs of these sentinels, except those that were down. settled is set once more
	// than half of them have answered. Until then choose does not use known.
	known   memory
	settled bool
	// servers holds the addresses and run_ids of the servers in the trusted reports.
	servers map[string]bool
	// strange holds the addresses of sentinels that answer and are not trusted.
	strange map[string]bool
}

// NewReports returns empty Reports. With refuse, a client that knows sentinels never trusts unrelated
// ones.
func NewReports(seeds []string, refuse bool) *Reports {
	return &Reports{seeds: slices.Clone(seeds), refuse: refuse, last: make(map[string]Report), others: make(map[string]Report)}
}

// Layout returns the last layout of Judge, or nil if there is none yet.
func (s *Reports) Layout() *Layout { return s.layout }

// Hear records a sentinel's report, or its failure to answer. It returns true if the sentinel has just
// stopped answering.
func (s *Reports) Hear(addr string, r Report, failure *errorx.Error, now time.Time) (fails bool) {
	last := s.last[addr]
	switch {
	case failure != nil:
		fails = last.err == nil
		if last.answers() {
			last.silentSince = now
		}
	case !r.tilt || last.master == "" || last.tilt: // while a sentinel is in TILT mode, its previous report counts
		s.displace(last, r, now)
		last = r
	}
	last.from, last.err = addr, failure
	s.last[addr] = last
	return fails
}

// displace keeps the last report of a sentinel if another sentinel now answers at its address. Behind a
// proxy, each connection may lead to another sentinel; without the kept reports, a sentinel that was cut
// off from the others could lead the client back to the old master. A kept report counts like that of a
// sentinel that has fallen silent, but for no longer than supersededAfter, because the sentinel may
// never answer again.
func (s *Reports) displace(last, r Report, now time.Time) {
	maps.DeleteFunc(s.others, func(id string, other Report) bool {
		return id == r.id || now.Sub(other.silentSince) >= supersededAfter
	})
	if last.id == "" || r.id == "" || last.id == r.id {
		return
	}
	if last.answers() {
		last.silentSince = now
	}
	last.from += " before"
	s.others[last.id] = last
}

// Verdict is the result of Judge.
type Verdict struct {
	// Changed: there is another layout.
	Changed bool
	// Dispute is the error of sentinels that have started to disagree.
	Dispute *errorx.Error
	// Strangers holds the addresses of sentinels that have started to answer and that the client does
	// not know.
	Strangers []string
	// Left holds the address of the new master if the client switches to a service of strangers: no
	// known sentinel answers, and the client did not know the new master.
	Left []string
}

// Judge computes the layout from the reports.
func (s *Reports) Judge(now time.Time) (v Verdict) {
	present := ""
	if s.layout != nil {
		present = s.layout.Shards[0].Master
	}
	chosen, strangers := s.choose(now)
	l, disagree := judge(chosen, present)
	if strangers && l != nil && !s.tells(chosen, l) {
		if s.refuse {
			return v
		}
		v.Left, s.settled = l.Masters(), false
	}
	s.learn(chosen)
	v.Strangers = s.findStrange()
	if s.dispute == nil {
		v.Dispute = disagree
	}
	s.dispute = disagree
	if l == nil || s.layout != nil && l.Equal(s.layout) {
		return v
	}
	s.layout, v.Changed = l, true
	return v
}

// Settled reports whether at some time more than half of the sentinels have answered.
func (s *Reports) Settled() bool { return s.settled }

// Others returns the addresses of the sentinels that the trusted ones know.
func (s *Reports) Others() (addrs []string) {
	for _, r := range s.chosen {
		addrs = append(addrs, r.Others...)
	}
	return addrs
}

// Failure returns an error that says why there is no master of that name, with the answer of each
// sentinel, or nil if there is a master. final is set if asking again is useless.
func (s *Reports) Failure(name string) (err *errorx.Error, final bool) {
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
		said = []string{"no answer in time from " + strings.Join(s.seeds, ", ")}
	}
	return kind.New("sentinels asked for the master %q: %s", name, strings.Join(said, "; ")), final
}

// Forget drops and returns the silent sentinels that are not seeds, that no answering sentinel names,
// and whose last report is not trusted.
func (s *Reports) Forget(now time.Time) (dropped []string) {
	named := slices.Clone(s.seeds)
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

// supersededAfter is how long the last report of a silent sentinel counts against a majority that
// disagrees. Sentinels tell each other of an epoch every 2 s.
const supersededAfter = 10 * time.Second

// superseded reports whether r, the last report of a silent sentinel, no longer counts, because a
// majority has disagreed for long enough. Without this rule, newly installed sentinels, which start
// with epoch 0, would never count against it. Nor would a majority, if only the lost sentinel knew the
// greatest epoch. If the quorum is 2 or more, a single new sentinel that knows no other is not a
// majority.
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

// hasMajority reports whether the reporting sentinel and those that agree with it are at least its
// quorum, and more than half of the sentinels that it knows.
func (r Report) hasMajority(reports map[string]Report) bool {
	agree := 1
	for _, addr := range r.Others {
		if other := reports[addr]; other.answers() && !other.tilt && other.same(r) && other.epoch == r.epoch {
			agree++
		}
	}
	return r.quorum > 0 && agree >= r.quorum && 2*agree > len(r.Others)+1
}

// best returns the reports with the greatest epoch, except those of sentinels in TILT mode.
func best(reports []Report) (best []Report) {
	for _, r := range reports {
		switch {
		case r.tilt:
		case len(best) == 0 || r.epoch > best[0].epoch:
			best = []Report{r}
		case r.epoch == best[0].epoch:
			best = append(best, r)
		}
	}
	return best
}

// judge builds a layout from the reports of sentinels that belong together. The report with the greatest
// epoch names the master, so a sentinel that comes back with an old report never moves the client back.
// If several masters, or several addresses of one master, have that epoch, the present one stays as long
// as a sentinel names it. judge returns nil if no sentinel names a master.
func judge(reports []Report, present string) (*Layout, *errorx.Error) {
	best := best(reports)
	if len(best) == 0 {
		return nil, nil
	}
	at := max(slices.IndexFunc(best, func(r Report) bool { return r.master == present }), 0)
	master := best[at]
	if !slices.ContainsFunc(best, func(r Report) bool { return !r.same(master) }) {
		return oneShard(master.master, replicasOf(master.master, best)), nil
	}
	named := make(map[string][]string) // the sentinels that name each address
	for _, r := range best {
		named[r.master] = append(named[r.master], r.from)
	}
	var said []string
	for _, m := range slices.Sorted(maps.Keys(named)) {
		said = append(said, fmt.Sprintf("%s by %s", m, strings.Join(named[m], ", ")))
	}
	dispute := ErrSentinelsDisagree.New("several servers are named as the master of epoch %d: %s", master.epoch, strings.Join(said, "; "))
	if master.master != present {
		return nil, dispute
	}
	return oneShard(present, replicasOf(present, best)), dispute
}

// replicasOf merges the replicas in the reports of the sentinels that answer. If no sentinel answers, it
// uses the first report.
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
