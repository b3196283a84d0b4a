// Package inbox holds what a consumer of messages has still to take, in order and within
// bounds, and tells where messages are missing.
package inbox

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/joomcode/redispipe/internal/pubsub"
)

// Message is redispubsub.Message.
type Message struct {
	Channel string
	Pattern string
	Payload []byte
	Sharded bool
	Node    string
	Time    time.Time
}

// Events knows the messages that are offered as events.
type Events interface {
	// Size returns [Message.Size] of an event, or 0 if it is no message.
	Size(ev any) int
	// Message returns the message that an event is.
	Message(ev any) Message
}

// Source is what can be missed: the messages of a topic, from one node if the subscription is
// on several.
type Source struct {
	pubsub.Topic
	Node string
}

// messageOverhead is what a message counts for the bound in bytes beside its payload and
// names: the size of a Message and of its place in the queue.
const messageOverhead = 128

// Size is what a message counts for the bound in bytes.
func (m *Message) Size() int { return len(m.Payload) + len(m.Channel) + messageOverhead }

func (m *Message) source() Source {
	topic := pubsub.Topic{Kind: pubsub.Channel, Name: m.Channel}
	switch {
	case m.Pattern != "":
		topic = pubsub.Topic{Kind: pubsub.Pattern, Name: m.Pattern}
	case m.Sharded:
		topic.Kind = pubsub.Sharded
	}
	return Source{topic, m.Node}
}

// State is an event: a topic is subscribed, or is no longer. Err is why, if its user did
// not want it.
type State struct {
	Topic pubsub.Topic
	On    bool
	Time  time.Time
	Err   error
}

// Reason is redispubsub.Reason. None is the one that is not known yet.
type Reason uint8

// The reasons.
const (
	None Reason = iota
	ConnectionLost
	SlotMoved
	BufferFull
	Failover
)

// Gap is an event: messages may be missing. It may change until it is taken.
type Gap struct {
	From, To time.Time // To is zero while the gap is open
	Reason   Reason
	Dropped  int
	Err      error
	of       map[Source]struct{}
}

func newGap(of Source, from, to time.Time, reason Reason) *Gap {
	return &Gap{of: map[Source]struct{}{of: {}}, From: from, To: to, Reason: reason}
}

func (g *Gap) open() bool { return g.To.IsZero() }

// extend makes g cover what o does.
func (g *Gap) extend(o *Gap) {
	for what := range o.of {
		g.of[what] = struct{}{}
	}
	if o.From.Before(g.From) {
		g.From = o.From
	}
	if o.To.After(g.To) {
		g.To = o.To
	}
	g.Dropped += o.Dropped
	if o.Err != nil {
		g.Err = o.Err
	}
}

// Of returns the topics of which messages may be missing, and the nodes, for a subscription
// on several.
func (g *Gap) Of() (topics []pubsub.Topic, nodes []string) {
	for what := range g.of {
		topics = append(topics, what.Topic)
		if what.Node != "" {
			nodes = append(nodes, what.Node)
		}
	}
	slices.SortFunc(topics, func(a, b pubsub.Topic) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), strings.Compare(a.Name, b.Name))
	})
	slices.Sort(nodes)
	return slices.Compact(topics), slices.Compact(nodes)
}

// run is a part of a queue without messages, newest last. What is in it happened
// between the same two messages, so its order is of no matter to the consumer, and it is
// kept short: a gap for each reason, open and closed, and one state for each topic.
type run []any

// add adds a *Gap or a State.
func (r run) add(ev any) run {
	switch ev := ev.(type) {
	case State:
		return r.addState(ev)
	case *Gap:
		if !ev.open() {
			return r.closeGap(ev)
		}
		return r.addGap(ev)
	}
	return r
}

// addGap adds a gap, or extends one of the same kind.
func (r run) addGap(g *Gap) run {
	for _, ev := range r {
		if old, ok := ev.(*Gap); ok && old.Reason == g.Reason && old.open() == g.open() {
			old.extend(g)
			return r
		}
	}
	return append(r, g)
}

// closeGap replaces what r has of an open gap by the closed one.
func (r run) closeGap(closed *Gap) run {
	for i, ev := range r {
		g, ok := ev.(*Gap)
		if !ok || !g.open() || g.Reason != closed.Reason {
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

// addState adds the state of a topic, in the place of its last one.
func (r run) addState(s State) run {
	r = slices.DeleteFunc(r, func(ev any) bool {
		old, ok := ev.(State)
		return ok && old.Topic == s.Topic
	})
	return append(r, s)
}
