package inbox

// run is a part of a queue without messages, newest last. What is in it happened
// between the same two messages, so its order is of no matter to the consumer, and it is
// kept short: a gap for each reason, open and closed, and one state for each source. A
// subscription may have many topics, so none of them is looked for one by one.
type run struct {
	events []any        // nil where one was taken out
	place  map[kind]int // of each in events
	gone   int          // how many were taken out
}

// kind is what a run has one event of: a gap's reason and whether it is open, or, with None, the
// source of a state.
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
	if isGap && !g.open() {
		r.closeGap(g)
	} else if isGap {
		r.addGap(g)
	} else {
		r.takeOut(kindOf(ev))
		r.push(ev)
	}
	return r
}

// addGap adds a gap, or extends one of the same kind.
func (r *run) addGap(g *Gap) {
	if old := r.gap(kindOf(g)); old != nil {
		old.extend(g)
		return
	}
	r.push(g)
}

// closeGap replaces what r has of an open gap by the closed one.
func (r *run) closeGap(closed *Gap) {
	if g := r.gap(kind{reason: closed.Reason, open: true}); g != nil {
		for what := range closed.of {
			delete(g.of, what)
		}
		if len(g.of) == 0 {
			r.takeOut(kindOf(g))
		}
	}
	r.addGap(closed)
}

// gap returns the gap of a kind, nil if there is none.
func (r *run) gap(k kind) *Gap {
	if i, ok := r.place[k]; ok {
		return r.events[i].(*Gap)
	}
	return nil
}

func (r *run) push(ev any) {
	if r.place == nil {
		r.place = map[kind]int{}
	}
	r.place[kindOf(ev)] = len(r.events)
	r.events = append(r.events, ev)
}

// takeOut takes out the event of a kind, if there is one.
func (r *run) takeOut(k kind) {
	i, ok := r.place[k]
	if !ok {
		return
	}
	delete(r.place, k)
	r.events[i] = nil
	if r.gone++; r.gone > len(r.events)/2 {
		kept := run{}
		for _, ev := range r.appendTo(nil) {
			kept.push(ev)
		}
		*r = kept
	}
}

// appendTo appends the events to a list.
func (r *run) appendTo(list []any) []any {
	for _, ev := range r.events {
		if ev != nil {
			list = append(list, ev)
		}
	}
	return list
}
