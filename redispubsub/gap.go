package redispubsub

import (
	"slices"
	"strings"
	"time"
)

// gap is a Gap that waits for the consumer, and may change until it is taken.
type gap struct {
	topics   map[Topic]struct{}
	from, to time.Time
	reason   Reason
	dropped  int
	err      error
}

func (*gap) event() {}

func (g *gap) open() bool { return g.to.IsZero() }

// extend makes g cover what o does.
func (g *gap) extend(o *gap) {
	for t := range o.topics {
		g.topics[t] = struct{}{}
	}
	if o.from.Before(g.from) {
		g.from = o.from
	}
	if o.to.After(g.to) {
		g.to = o.to
	}
	g.dropped += o.dropped
	if o.err != nil {
		g.err = o.err
	}
}

// public makes the event that the consumer gets.
func (g *gap) public() Gap {
	topics := make([]Topic, 0, len(g.topics))
	for t := range g.topics {
		topics = append(topics, t)
	}
	slices.SortFunc(topics, func(a, b Topic) int {
		if a.Kind != b.Kind {
			return int(a.Kind) - int(b.Kind)
		}
		return strings.Compare(a.Name, b.Name)
	})
	return Gap{Topics: topics, From: g.from, To: g.to, Reason: g.reason, Dropped: g.dropped, Err: g.err}
}

// gapRun is a part of a queue without messages, newest last. What is in it happened
// between the same two messages, so its order is of no matter to the consumer, and it is
// kept short: a gap for each reason, open and closed, and one state for each topic.
type gapRun []Event

// addGap adds a gap, or extends one of the same kind.
func (r gapRun) addGap(g *gap) gapRun {
	for _, ev := range r {
		if old, ok := ev.(*gap); ok && old.reason == g.reason && old.open() == g.open() {
			old.extend(g)
			return r
		}
	}
	return append(r, g)
}

// closeGap replaces what r has of an open gap of the topic by the closed one.
func (r gapRun) closeGap(t Topic, closed *gap) gapRun {
	for i, ev := range r {
		g, ok := ev.(*gap)
		if !ok || !g.open() || g.reason != closed.reason {
			continue
		}
		delete(g.topics, t)
		if len(g.topics) == 0 {
			r = slices.Delete(r, i, i+1)
		}
		break
	}
	return r.addGap(closed)
}

// addState adds a Subscribed or Unsubscribed, in the place of the last one of the topic.
func (r gapRun) addState(ev Event) gapRun {
	t, _ := stateOf(ev)
	for i, old := range r {
		if of, ok := stateOf(old); ok && of == t {
			r = slices.Delete(r, i, i+1)
			break
		}
	}
	return append(r, ev)
}

func stateOf(ev Event) (Topic, bool) {
	switch ev := ev.(type) {
	case Subscribed:
		return ev.Topic, true
	case Unsubscribed:
		return ev.Topic, true
	}
	return Topic{}, false
}

// add adds any event that is not a message.
func (r gapRun) add(ev Event) gapRun {
	if g, ok := ev.(*gap); ok {
		return r.addGap(g)
	}
	return r.addState(ev)
}
