package pubsub

import (
	"bytes"
	"slices"
	"time"

	"github.com/joomcode/redispipe/redis"
)

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

// Work is what a managed server says of work on it.
type Work struct {
	Kind     string
	In       time.Duration // time until it begins; zero if the server does not say
	Endpoint string        // for MOVING, where to connect instead; empty if the address stays the same
}

// String is how loggers write it.
func (w Work) String() string {
	text := w.Kind
	if w.In > 0 {
		text += " in " + w.In.String()
	}
	if w.Endpoint != "" {
		text += " to " + w.Endpoint
	}
	return text
}

// works are the kinds of pushes that tell of work on a server.
var works = []string{"MOVING", "MIGRATING", "MIGRATED", "FAILING_OVER", "FAILED_OVER", "SMIGRATING", "SMIGRATED"}

// inMost bounds what is believed of when work begins.
const inMost = 24 * time.Hour

// endpointMost is how long an endpoint may be: the name of a host with a port.
const endpointMost = 253 + len(":65535")

// ParseWork reads a push by its kind and what follows: a number, then the seconds until
// the work begins, then an endpoint, shards or slots. ok is false if the kind is another one.
func ParseWork(kind []byte, rest any) (w Work, ok bool) {
	i := slices.Index(works, string(kind))
	if i < 0 {
		return w, false
	}
	w.Kind = works[i]
	args, _ := rest.([]any)
	if len(args) > 1 {
		if seconds, _ := args[1].(int64); seconds > 0 && seconds <= int64(inMost/time.Second) {
			w.In = time.Duration(seconds) * time.Second
		}
	}
	if len(args) > 2 && w.Kind == "MOVING" {
		if endpoint, _ := args[2].([]byte); isEndpoint(endpoint) {
			w.Endpoint = string(endpoint)
		}
	}
	return w, true
}

// isEndpoint reports whether a text may be an endpoint. Others could forge lines of a log, or
// fill it.
func isEndpoint(text []byte) bool {
	return len(text) <= endpointMost && !bytes.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' })
}
