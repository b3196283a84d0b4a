package redispubsub

import (
	"time"

	"github.com/joomcode/redispipe/internal/pubsub"
	"github.com/joomcode/redispipe/redispubsub/internal/inbox"
)

// Event is a [Message] or a [Gap] or, with SubscriptionOpts.Status, a [Subscribed] or
// [Unsubscribed].
type Event interface{ event() }

// Message is what somebody has published.
type Message struct {
	Channel string
	// Pattern is the pattern that the channel matches, if that was subscribed.
	Pattern string
	// Payload must not be changed: all subscriptions of a topic get the same.
	Payload []byte
	// Sharded is whether it came by SPUBLISH.
	Sharded bool
	// Node is the address of the node that sent it, for a subscription on several.
	Node string
	// Time is when it was read from the socket.
	Time time.Time
}

// Gap means that messages may be missing. It comes between the last message before the
// loss and the first one after it. A gap is delivered twice: with an open end when the
// loss is noticed, and with both times when the topics are subscribed again. A slow
// consumer gets only the second one. Gaps that are not consumed yet are merged if there
// is no message between them.
type Gap struct {
	// Topics are the topics of which messages may be missing.
	Topics []Topic
	// Nodes are the addresses of the nodes that messages may be missing from, for a
	// subscription on several.
	Nodes []string
	// From is the time before which nothing was lost.
	From time.Time
	// To is when the topics were subscribed again, and no other node took messages for
	// them, or when the last message was dropped. It is zero while the gap is open. When
	// a subscription ends, its gaps end.
	To time.Time
	// Reason says why.
	Reason Reason
	// Dropped is how many messages did not fit into the buffer, with the reason
	// BufferFull. The number of messages lost for other reasons is not known.
	Dropped int
	// Err is what happened to the connection, or what the server said.
	Err error
}

// Open reports whether messages are still being missed.
func (g Gap) Open() bool { return g.To.IsZero() }

// Reason is why messages may be missing.
type Reason = inbox.Reason

const (
	// ConnectionLost: the socket broke, or the server was silent for too long.
	ConnectionLost Reason = inbox.ConnectionLost
	// SlotMoved: the topic goes to another node, since its slot has moved, or the server
	// has unsubscribed it.
	SlotMoved Reason = inbox.SlotMoved
	// BufferFull: the consumer was slower than the publishers.
	BufferFull Reason = inbox.BufferFull
	// Failover: the topic goes to another node, since its node is no longer a master. If
	// that node was found unreachable before, the reason is ConnectionLost.
	Failover Reason = inbox.Failover
)

// Subscribed means that the server has confirmed a topic. Messages that are published
// from then on are delivered.
type Subscribed struct {
	Topic Topic
	// Node is the address of the node, for a subscription on several.
	Node string
	Time time.Time
}

// Unsubscribed means that a topic is no longer subscribed. Err is nil if Unsubscribe
// was called, and if another node has the topic. If the server refuses a topic for good
// ([ErrRefused]) after it was subscribed, Unsubscribed is delivered even without
// SubscriptionOpts.Status, and the subscription goes on without the topic.
type Unsubscribed struct {
	Topic Topic
	// Node is the address of the node, for a subscription on several: the topic may still be
	// subscribed on others.
	Node string
	Time time.Time
	Err  error
}

func (Message) event()      {}
func (Gap) event()          {}
func (Subscribed) event()   {}
func (Unsubscribed) event() {}

// messageOf is inbox.Opts.MessageOf.
func messageOf(ev any) (m inbox.Message, ok bool) {
	msg, ok := ev.(Message)
	return inbox.Message(msg), ok
}

// publicEvent makes an event of what an inbox holds.
func publicEvent(ev any) Event {
	switch ev := ev.(type) {
	case *inbox.Gap:
		topics, nodes := ev.Of()
		return Gap{
			Topics: topics, Nodes: nodes, From: ev.From, To: ev.To,
			Reason: ev.Reason, Dropped: ev.Dropped, Err: ev.Err,
		}
	case inbox.State:
		if ev.On {
			return Subscribed{Topic: ev.Topic, Node: ev.Node, Time: ev.Time}
		}
		return Unsubscribed{Topic: ev.Topic, Node: ev.Node, Time: ev.Time, Err: ev.Err}
	}
	return ev.(Event)
}

// Kind is what a topic is.
type Kind = pubsub.Kind

const (
	// KindChannel is a channel by its name.
	KindChannel Kind = pubsub.Channel
	// KindPattern stands for all channels with a name that matches.
	KindPattern Kind = pubsub.Pattern
	// KindSharded is a sharded channel (Redis 7.0), which belongs to a slot.
	KindSharded Kind = pubsub.Sharded
)

// Topic is what can be subscribed: it has a Kind and a Name.
type Topic = pubsub.Topic

// Channel is the topic of a channel.
func Channel(name string) Topic { return Topic{Kind: KindChannel, Name: name} }

// Pattern is the topic of all channels that match a pattern: with *, ? and [...].
func Pattern(pattern string) Topic { return Topic{Kind: KindPattern, Name: pattern} }

// Sharded is the topic of a sharded channel. SPUBLISH publishes there.
func Sharded(name string) Topic { return Topic{Kind: KindSharded, Name: name} }

// checkTopics returns the error of topics that can't be asked for.
func checkTopics(topics []Topic) error {
	if len(topics) == 0 {
		return ErrTopic.New("no topics")
	}
	for _, t := range topics {
		if !pubsub.Valid(t.Kind) {
			return ErrTopic.New("there is no %v", t.Kind)
		}
		if t.Name == "" {
			return ErrTopic.New("a %v without a name", t.Kind)
		}
	}
	return nil
}
