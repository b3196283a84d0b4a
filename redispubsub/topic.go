package redispubsub

import (
	"github.com/joomcode/redispipe/internal/pubsub"
	"github.com/joomcode/redispipe/redis"
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

// String implements fmt.Stringer.
func (k Kind) String() string { return pubsub.Kind(k).String() }

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
func (t Topic) String() string { return t.inner().String() }

func (t Topic) inner() pubsub.Topic { return pubsub.Topic{Kind: pubsub.Kind(t.Kind), Name: t.Name} }

// innerTopics returns what internal packages take, or the error of topics that can't be
// asked for.
func innerTopics(topics []Topic) (list []pubsub.Topic, err error) {
	if len(topics) == 0 {
		return nil, ErrTopic.New("no topics")
	}
	for _, t := range topics {
		if !t.inner().Kind.Valid() {
			return nil, ErrTopic.New("there is no %v", t.Kind)
		}
		if t.Name == "" {
			return nil, ErrTopic.New("a %v without a name", t.Kind)
		}
		list = append(list, t.inner())
	}
	return list, nil
}

// publicTopics returns what users get.
func publicTopics(list []pubsub.Topic) (topics []Topic) {
	for _, t := range list {
		topics = append(topics, publicTopic(t))
	}
	return topics
}

func publicErrors(list []error) (errs []error) {
	for _, err := range list {
		errs = append(errs, redis.Err(err))
	}
	return errs
}

func publicTopic(t pubsub.Topic) Topic { return Topic{Kind(t.Kind), t.Name} }
