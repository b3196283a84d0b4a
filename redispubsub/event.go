package redispubsub

import (
	"time"

	"github.com/joomcode/redispipe/internal/pubsub"
	"github.com/joomcode/redispipe/redispubsub/internal/inbox"
)

// Event is a [Message] or a [Gap] or, with SubscriptionOpts.Status, a [Subscribed] or
// [Unsubscribed].
type Event interface{ event() }

// Message is a published message.
type Message struct {
	Channel string
	// Pattern is the subscribed pattern that the channel matches, or empty.
	Pattern string
	// Payload must not be changed: all subscriptions of a topic share it.
	Payload []byte
	// Sharded reports whether the message was published with SPUBLISH.
	Sharded bool
	// Node is the address of the node that sent the message, for a subscription on several nodes.
	Node string
	// Time is the time when the message was read from the socket.
	Time time.Time
}

// Gap means that messages may be missing. It is delivered between the last message before the
// loss and the first one after it. A gap is delivered twice: with an open end when the
// client notices the loss, and with both times when it has subscribed to the topics again. A slow
// consumer may get only the second one. Gaps that were not consumed yet are merged if there
// is no message between them.
type Gap struct {
	// Topics are the topics with possibly missing messages.
	Topics []Topic
	// Nodes are the addresses of the nodes whose messages may be missing, for a
	// subscription on several nodes.
	Nodes []string
	// From is the time before which nothing was lost.
	From time.Time
	// To is the end of the gap: the time when the topics were subscribed again and no other node
	// accepted messages for them, or when the last message was dropped. It is zero while the gap is
	// open. When a subscription ends, its gaps end.
	To time.Time
	// Reason is the reason for the gap.
	Reason Reason
	// Dropped is the number of messages that did not fit into the buffer, if the reason is
	// BufferFull. The number of messages lost for other reasons is not known.
	Dropped int
	// Err is the error of the connection or of the server.
	Err error
}

// Open reports whether messages may still be getting lost.
func (g Gap) Open() bool { return g.To.IsZero() }

// Reason is the reason why messages may be missing.
type Reason = inbox.Reason

const (
	// ConnectionLost: the socket broke, or the server was silent for too long. If the server
	// refuses the topic after that, Gap.Err is an [ErrRefused], and the gap stays open.
	ConnectionLost Reason = inbox.ConnectionLost
	// SlotMoved: the topic moves to another node, because its slot has moved or the server
	// has unsubscribed it.
	SlotMoved Reason = inbox.SlotMoved
	// BufferFull: the consumer was slower than the publishers.
	BufferFull Reason = inbox.BufferFull
	// Failover: the topic moves to another node, because its node is no longer a master. If the client
	// lost the connection to that node first, the reason is ConnectionLost.
	Failover Reason = inbox.Failover
)

// Subscribed means that the server has confirmed a topic. Messages that are published
// from then on are delivered.
type Subscribed struct {
	Topic Topic
	// Node is the address of the node, for a subscription on several nodes.
	Node string
	Time time.Time
}

// Unsubscribed means that a topic is no longer subscribed. Err is nil if Unsubscribe
// was called, and if the topic moves to another node. If the server permanently refuses a topic
// ([ErrRefused]) after it was subscribed, Unsubscribed is delivered even without
// SubscriptionOpts.Status, and the subscription continues without the topic.
type Unsubscribed struct {
	Topic Topic
	// Node is the address of the node, for a subscription on several nodes. The topic may still be
	// subscribed on other nodes.
	Node string
	Time time.Time
	Err  error
}

func (Message) event()      {}
func (Gap) event()          {}
func (Subscribed) event()   {}
func (Unsubscribed) event() {}

// messageOf implements inbox.Opts.MessageOf.
func messageOf(ev any) (m inbox.Message, ok bool) {
	msg, ok := ev.(Message)
	return inbox.Message(msg), ok
}

// publicEvent converts an item of an inbox to an event.
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

// Kind is the kind of a topic.
type Kind = pubsub.Kind

const (
	// KindChannel is the kind of a channel.
	KindChannel Kind = pubsub.Channel
	// KindPattern is the kind of a pattern, which stands for all channels whose names match it.
	KindPattern Kind = pubsub.Pattern
	// KindSharded is the kind of a sharded channel (from Redis 7.0 on), which belongs to a slot.
	KindSharded Kind = pubsub.Sharded
)

// Topic is a channel, a pattern or a sharded channel. It has a Kind and a Name.
type Topic = pubsub.Topic

// Channel returns the topic of a channel.
func Channel(name string) Topic { return Topic{Kind: KindChannel, Name: name} }

// Pattern returns the topic of all channels whose names match a pattern, which may contain *, ? and [...].
func Pattern(pattern string) Topic { return Topic{Kind: KindPattern, Name: pattern} }

// Sharded returns the topic of a sharded channel. Publish to it with SPUBLISH.
func Sharded(name string) Topic { return Topic{Kind: KindSharded, Name: name} }

// checkTopics returns an error if one of the topics can't be subscribed.
func checkTopics(topics []Topic) error {
	if len(topics) == 0 {
		return ErrTopic.New("no topics")
	}
	for _, t := range topics {
		if !pubsub.Valid(t.Kind) {
			return ErrTopic.New("invalid %v", t.Kind)
		}
		if t.Name == "" {
			return ErrTopic.New("a %v without a name", t.Kind)
		}
	}
	return nil
}
