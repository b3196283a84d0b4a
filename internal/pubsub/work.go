package pubsub

import (
	"bytes"
	"slices"
	"time"
)

// Work is what a managed server says of work on it.
type Work struct {
	Kind     string
	In       time.Duration // when it begins; zero if the server does not say
	Endpoint string        // of MOVING, where to connect to instead; empty if that stays the same
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
