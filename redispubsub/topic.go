package redispubsub

import (
	"fmt"

	"github.com/joomcode/redispipe/internal/slot"
)

// Kind is what a topic is.
type Kind uint8

const (
	// KindChannel is a channel by its name.
	KindChannel Kind = iota
	// KindPattern stands for all channels with a name that matches.
	KindPattern
	// KindSharded is a sharded channel (Redis 7.0), which belongs to a slot.
	KindSharded
)

// kind has the words of the protocol for a Kind.
type kind struct{ name, subscribe, unsubscribe, subscribed, unsubscribed, message string }

var kinds = [...]kind{
	KindChannel: {"channel", "SUBSCRIBE", "UNSUBSCRIBE", "subscribe", "unsubscribe", "message"},
	KindPattern: {"pattern", "PSUBSCRIBE", "PUNSUBSCRIBE", "psubscribe", "punsubscribe", "pmessage"},
	KindSharded: {"sharded channel", "SSUBSCRIBE", "SUNSUBSCRIBE", "ssubscribe", "sunsubscribe", "smessage"},
}

// String implements fmt.Stringer.
func (k Kind) String() string {
	if int(k) < len(kinds) {
		return kinds[k].name
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// Topic is what can be subscribed.
type Topic struct {
	Kind Kind
	Name string
}

// Channel is the topic of a channel.
func Channel(name string) Topic { return Topic{KindChannel, name} }

// Pattern is the topic of all channels that match a pattern: with *, ? and [...].
func Pattern(pattern string) Topic { return Topic{KindPattern, pattern} }

// Sharded is the topic of a sharded channel. SPUBLISH publishes there.
func Sharded(name string) Topic { return Topic{KindSharded, name} }

// String implements fmt.Stringer.
func (t Topic) String() string { return fmt.Sprintf("%v %q", t.Kind, t.Name) }

func (t Topic) sharded() bool { return t.Kind == KindSharded }

// slot returns the slot that a topic belongs to, or anySlot.
func (t Topic) slot() int {
	if t.Kind != KindSharded {
		return anySlot
	}
	return int(slot.Of(t.Name))
}

// anySlot is the slot of topics that any node of a cluster has.
const anySlot = -1

// checkTopics returns the error of topics that can't be asked for.
func checkTopics(topics []Topic) error {
	if len(topics) == 0 {
		return ErrTopic.New("no topics")
	}
	for _, t := range topics {
		if int(t.Kind) >= len(kinds) {
			return ErrTopic.New("there is no %v", t.Kind)
		}
		if t.Name == "" {
			return ErrTopic.New("a %v without a name", t.Kind)
		}
	}
	return nil
}
