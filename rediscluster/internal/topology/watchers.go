package topology

import (
	"cmp"
	"maps"
	"slices"
	"sort"
	"time"
)

// choose returns the reports that count. Once the client knows sentinels, these are the reports of a
// group of sentinels that know each other and more than half of the known ones. If there is no such
// group, strangers is set, and choose takes a group of other sentinels. Before the client knows any
// sentinel, and for strangers, it takes the group in which most sentinels answer, and among equal groups
// the one that knows most sentinels. Groups that are still equal count together: judge then decides by
// the epochs of their reports.
func (s *Reports) choose(now time.Time) (chosen []Report, strangers bool) {
	reports := slices.AppendSeq(slices.Collect(maps.Values(s.last)), maps.Values(s.others))
	reports = slices.DeleteFunc(reports, func(r Report) bool { return r.master == "" || r.superseded(s.last, now) })
	place := func(r Report) int {
		if at := slices.Index(s.seeds, r.from); at >= 0 {
			return at
		}
		return len(s.seeds)
	}
	sort.SliceStable(reports, func(i, j int) bool {
		a, b := reports[i], reports[j]
		return cmp.Or(place(a)-place(b), cmp.Compare(a.from, b.from)) < 0
	})
	all := speakers(reports)
	known := s.known
	if !s.settled {
		known = nil
	}
	groups := known.kin(all, together(all))
	if len(groups) == 0 {
		known, groups, strangers = nil, together(all), true
	}
	var best []int
	var most [3]int
	for _, group := range groups {
		answer, others := 0, 0
		for _, i := range group {
			if reports[i].answers() && !reports[i].tilt {
				answer++
			}
			others = max(others, len(reports[i].Others))
		}
		has := [3]int{known.shared(all, group), answer, others}
		switch order := slices.Compare(has[:], most[:]); {
		case best == nil || order > 0:
			best, most = group, has
		case order == 0:
			best = append(slices.Clone(best), group...)
		}
	}
	slices.Sort(best)
	for _, i := range slices.Compact(best) {
		chosen = append(chosen, reports[i])
	}
	return chosen, strangers
}

// speakers returns the reporting sentinels as speakers. If a sentinel does not report its own ID, speakers
// uses the ID that other sentinels give for its address.
func speakers(reports []Report) []speaker {
	all := make([]speaker, len(reports))
	for i, r := range reports {
		for other := 0; r.id == "" && other < len(reports); other++ {
			r.id = reports[other].ids[r.from]
		}
		all[i].members = map[string]bool{}
		if r.id != "" {
			all[i].know(r.id, true)
		}
		for _, id := range r.ids {
			all[i].know(id, false)
		}
	}
	return all
}

// tells reports whether the sentinels that the client knew have reported the master of a layout, as a
// master or as a replica.
func (s *Reports) tells(chosen []Report, l *Layout) bool {
	master := l.Shards[0].Master
	return s.servers[master] || slices.ContainsFunc(chosen, func(r Report) bool { return r.master == master && s.servers[r.run] })
}

// learn remembers the sentinels whose reports count.
func (s *Reports) learn(chosen []Report) {
	if len(chosen) == 0 {
		return
	}
	s.chosen, s.known, s.servers = chosen, memory{}, map[string]bool{}
	answer, there := 0, len(s.seeds)
	for i, sp := range speakers(chosen) {
		r := chosen[i]
		if r.answers() && !r.tilt {
			answer++
			maps.Copy(s.known, r.alive)
		}
		if sp.id != "" {
			s.known[sp.id] = true
		}
		there = max(there, 1+len(r.Others))
		maps.Copy(s.servers, r.servers)
	}
	s.settled = s.settled || 2*answer > there
}

// findStrange returns the addresses of sentinels that have started to answer and whose reports do not
// count.
func (s *Reports) findStrange() (found []string) {
	strange := map[string]bool{}
	for addr, r := range s.last {
		counts := slices.ContainsFunc(s.chosen, func(c Report) bool { return c.from == addr })
		if r.answers() && r.master != "" && !counts && s.settled {
			if strange[addr] = true; !s.strange[addr] {
				found = append(found, addr)
			}
		}
	}
	s.strange = strange
	return found
}
