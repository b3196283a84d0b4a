// Package inbox buffers the events for a consumer of messages, in order and within bounds, and records
// where messages are missing.
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

// Source is the source of messages: a topic and, if the subscription is on several nodes, one of the
// nodes.
type Source struct {
	pubsub.Topic
	Node string
}

// messageOverhead is the memory that a message takes in addition to its payload and names: a Message and
// its place in the queue.
const messageOverhead = 128

// Size returns the number of bytes for which a message counts towards Opts.MaxBytes.
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

// State is an event: a topic is subscribed (On), or is no longer subscribed. Err says why the server has
// ended the subscription; it is nil if the user has.
type State struct {
	Source
	On   bool
	Time time.Time
	Err  error
}

// Reason is redispubsub.Reason. None means that the reason is not known yet.
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

// Gap is an event: messages may be missing. The inbox may change it until the consumer takes it.
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

// extend makes g also cover the times and sources of o.
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

// Of returns the topics whose messages may be missing and, for a subscription on several nodes, the
// addresses of the nodes.
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
