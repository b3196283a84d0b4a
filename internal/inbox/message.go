// Package inbox holds what a consumer of messages has still to take, in order and within
// bounds, and tells where messages are missing.
package inbox

import (
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
