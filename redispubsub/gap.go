package redispubsub

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// gap is a Gap that waits for the consumer, and may change until it is taken.
type gap struct {
	of       map[spot]struct{}
	from, to time.Time
	reason   Reason
	dropped  int
	err      error
}

// spot is what can be missed: the messages of a topic, from one node if the subscription
// is on several.
type spot struct {
	Topic
	node string
}

func (*gap) event() {}

func (g *gap) open() bool { return g.to.IsZero() }

// extend makes g cover what o does.
func (g *gap) extend(o *gap) {
	for what := range o.of {
		g.of[what] = struct{}{}
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
	var topics []Topic
	var nodes []string
	for what := range g.of {
		topics = append(topics, what.Topic)
		if what.node != "" {
			nodes = append(nodes, what.node)
		}
	}
	slices.SortFunc(topics, func(a, b Topic) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), strings.Compare(a.Name, b.Name))
	})
	slices.Sort(nodes)
	return Gap{Topics: slices.Compact(topics), Nodes: slices.Compact(nodes), From: g.from, To: g.to, Reason: g.reason, Dropped: g.dropped, Err: g.err}
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

// closeGap replaces what r has of an open gap by the closed one.
func (r gapRun) closeGap(closed *gap) gapRun {
	for i, ev := range r {
		g, ok := ev.(*gap)
		if !ok || !g.open() || g.reason != closed.reason {
			continue
		}
		for what := range closed.of {
			delete(g.of, what)
		}
		if len(g.of) == 0 {
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
	g, ok := ev.(*gap)
	switch {
	case !ok:
		return r.addState(ev)
	case g.open():
		return r.addGap(g)
	}
	return r.closeGap(g)
}
