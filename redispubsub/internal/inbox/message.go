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

// Source is where messages come from: a topic and, if the subscription is on several nodes, one
// of them.
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
	Source
	On   bool
	Time time.Time
	Err  error
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

// String implements fmt.Stringer.
func (r Reason) String() string {
	return pubsub.Named("Reason", uint8(r), "", "connection lost", "slot moved", "buffer full", "failover")
}

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
	g.Err = cmp.Or(o.Err, g.Err)
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
