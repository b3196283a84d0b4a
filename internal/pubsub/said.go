package pubsub

import "github.com/joomcode/redispipe/redis"

// Said is what a server has said of a topic.
type Said struct {
	What What
	Kind Kind
	// Name is the topic's, or of Maintenance the kind, Channel that of the channel that a
	// message came by. Both are the push's.
	Name, Channel []byte
}

// What is what a push says.
type What uint8

// What servers say.
const (
	Message What = iota
	Subscribed
	Unsubscribed
	// Maintenance: of the server, not of a topic. Only managed servers say it.
	Maintenance
)

// Parse reads a push.
func Parse(push *redis.Push) (said Said, err error) {
	w := push.Words
	for k := range kinds {
		said.Kind = Kind(k)
		switch string(w[0]) {
		case kinds[k].message:
			said.What = Message
		case kinds[k].subscribed:
			said.What = Subscribed
		case kinds[k].unsubscribed:
			said.What = Unsubscribed
		default:
			continue
		}
		wellFormed := push.Rest == nil
		if said.What != Message {
			_, wellFormed = push.Rest.(int64) // how many topics the socket has
		}
		words := 2
		if said.What == Message && said.Kind == Pattern {
			words = 3
		}
		if len(w) != words || !wellFormed {
			return said, ErrStream.New("a malformed push")
		}
		said.Name, said.Channel = w[1], w[words-1]
		return said, nil
	}
	if _, ok := ParseWork(w[0], push.Rest); ok {
		return Said{What: Maintenance, Name: w[0]}, nil
	}
	return said, ErrStream.New("a push of an unknown kind")
}
