package inbox

import (
	"maps"
	"slices"
)

// run holds the events between two messages, in the order in which they were added. The exact order of
// these events does not matter to the consumer, so a run merges them: it has at most one open and one
// closed gap for each reason, and one State for each source. A map finds the event to merge with, because
// a subscription may have many topics.
type run struct {
	events map[kind]placed
	added  int // how many events were added
}

// placed is an event and its place in the order of a run.
type placed struct {
	event any
	place int
}

// kind identifies an event of a run, which has at most one event of each kind. For a gap it is the reason,
// and whether the gap is open. For a State the reason is None, and of is the source.
type kind struct {
	reason Reason
	open   bool
	of     Source
}

func kindOf(ev any) kind {
	if g, isGap := ev.(*Gap); isGap {
		return kind{reason: g.Reason, open: g.open()}
	}
	return kind{of: ev.(State).Source}
}

// add adds a *Gap or a State.
func (r *run) add(ev any) *run {
	g, isGap := ev.(*Gap)
	switch {
	case !isGap:
		r.put(ev)
	case g.open():
		r.addGap(g)
	default:
		r.closeGap(g)
	}
	return r
}

// addGap adds a gap, or extends one of the same kind.
func (r *run) addGap(g *Gap) {
	if old := r.gap(kindOf(g)); old != nil {
		old.extend(g)
		return
	}
	r.put(g)
}

// closeGap adds a closed gap, and removes its sources from the open gap with the same reason.
func (r *run) closeGap(closed *Gap) {
	if g := r.gap(kind{reason: closed.Reason, open: true}); g != nil {
		for what := range closed.of {
			delete(g.of, what)
		}
		if len(g.of) == 0 {
			delete(r.events, kindOf(g))
		}
	}
	r.addGap(closed)
}

// gap returns the gap of a kind, or nil if there is none.
func (r *run) gap(k kind) *Gap {
	g, _ := r.events[k].event.(*Gap)
	return g
}

// put adds an event at the end. It replaces an earlier event of the same kind.
func (r *run) put(ev any) {
	if r.events == nil {
		r.events = map[kind]placed{}
	}
	r.added++
	r.events[kindOf(ev)] = placed{ev, r.added}
}

// appendTo appends the events to a list.
func (r *run) appendTo(list []any) []any {
	all := slices.AppendSeq(make([]placed, 0, len(r.events)), maps.Values(r.events))
	slices.SortFunc(all, func(a, b placed) int { return a.place - b.place })
	for _, p := range all {
		list = append(list, p.event)
	}
	return list
}
