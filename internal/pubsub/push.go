package pubsub

import (
	"bytes"
	"slices"
	"time"

	"github.com/joomcode/redispipe/redis"
)

// Notice is a message from a server about a topic, or about maintenance.
type Notice struct {
	Type NoticeType
	Kind Kind
	// Name is the name of the topic, or the kind of maintenance. Channel is the channel of a
	// message. Both point into the push.
	Name, Channel []byte
}

// A NoticeType is the type of a Notice.
type NoticeType uint8

// The types of a Notice.
const (
	Message NoticeType = iota
	Subscribed
	Unsubscribed
	// Maintenance concerns the server, not a topic. Only managed servers announce it.
	Maintenance
)

// Parse reads a push.
func Parse(push *redis.Push) (notice Notice, err error) {
	w := push.Words
	for k := range kinds {
		notice.Kind = Kind(k)
		switch string(w[0]) {
		case kinds[k].message:
			notice.Type = Message
		case kinds[k].subscribed:
			notice.Type = Subscribed
		case kinds[k].unsubscribed:
			notice.Type = Unsubscribed
		default:
			continue
		}
		wellFormed := push.Rest == nil
		if notice.Type != Message {
			_, wellFormed = push.Rest.(int64) // the element is the number of topics of the socket
		}
		words := 2
		if notice.Type == Message && notice.Kind == Pattern {
			words = 3
		}
		if len(w) != words || !wellFormed {
			return notice, ErrStream.New("a malformed push")
		}
		notice.Name, notice.Channel = w[1], w[words-1]
		return notice, nil
	}
	if _, ok := ParseWork(w[0], push.Rest); ok {
		return Notice{Type: Maintenance, Name: w[0]}, nil
	}
	return notice, ErrStream.New("a push of an unknown kind")
}

// Work is an announcement of maintenance by a managed server.
type Work struct {
	Kind     string
	In       time.Duration // time until the maintenance begins; zero if the server does not say
	Endpoint string        // for MOVING, the address to connect to instead; empty if the address does not change
}

// Ends reports whether the maintenance is over.
func (w Work) Ends() bool {
	return w.Kind == "MIGRATED" || w.Kind == "FAILED_OVER" || w.Kind == "SMIGRATED"
}

// String formats w for logs.
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

// works are the kinds of pushes that announce maintenance.
var works = []string{"MOVING", "MIGRATING", "MIGRATED", "FAILING_OVER", "FAILED_OVER", "SMIGRATING", "SMIGRATED"}

// inMost is the longest accepted time until maintenance.
const inMost = 24 * time.Hour

// endpointMost is the greatest length of an endpoint, which is a host with a port.
const endpointMost = 253 + len(":65535")

// ParseWork parses a push by its kind and its elements: a number, then the seconds until the
// maintenance, then an endpoint, shards or slots. If MOVING has an invalid endpoint, ParseWork returns
// neither an endpoint nor a time. ok is false for other kinds.
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
	if len(args) > 2 && args[2] != nil && w.Kind == "MOVING" {
		endpoint := Text(args[2])
		if len(endpoint) == 0 || !isEndpoint(endpoint) {
			return Work{Kind: w.Kind}, true
		}
		w.Endpoint = string(endpoint)
	}
	return w, true
}

// Text returns the text of an element of a push, which servers send as a bulk or a simple string. If
// the element is not a string, Text returns nil.
func Text(element any) []byte {
	if s, simple := element.(string); simple {
		return []byte(s)
	}
	b, _ := element.([]byte)
	return b
}

// isEndpoint reports whether a text may be an endpoint. Other texts could forge log lines, or flood
// the log.
func isEndpoint(text []byte) bool {
	return len(text) <= endpointMost && !bytes.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' })
}
