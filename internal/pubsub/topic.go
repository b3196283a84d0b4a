// Package pubsub is how clients and servers speak of topics: the commands that subscribe
// and unsubscribe them, the answers, and what servers send unasked. It knows no socket.
package pubsub

import (
	"fmt"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/slot"
	"github.com/joomcode/redispipe/redis"
)

// Kind is what a topic is.
type Kind uint8

// The kinds.
const (
	Channel Kind = iota
	Pattern
	Sharded
	none
)

// words has the words of the protocol for a Kind.
type words struct{ name, subscribe, unsubscribe, subscribed, unsubscribed, message string }

var kinds = [none]words{
	Channel: {"channel", "SUBSCRIBE", "UNSUBSCRIBE", "subscribe", "unsubscribe", "message"},
	Pattern: {"pattern", "PSUBSCRIBE", "PUNSUBSCRIBE", "psubscribe", "punsubscribe", "pmessage"},
	Sharded: {"sharded channel", "SSUBSCRIBE", "SUNSUBSCRIBE", "ssubscribe", "sunsubscribe", "smessage"},
}

// Valid reports whether there is such a kind.
func (k Kind) Valid() bool { return k < none }

// String implements fmt.Stringer.
func (k Kind) String() string {
	if k.Valid() {
		return kinds[k].name
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// Command returns the name of the command that subscribes topics of the kind, or
// unsubscribes them.
func (k Kind) Command(subscribe bool) string {
	if subscribe {
		return kinds[k].subscribe
	}
	return kinds[k].unsubscribe
}

// Topic is what can be subscribed.
type Topic struct {
	Kind Kind
	Name string
}

// String implements fmt.Stringer.
func (t Topic) String() string { return fmt.Sprintf("%v %q", t.Kind, t.Name) }

// AnySlot is the slot of topics that any node of a cluster has.
const AnySlot = -1

// Slot returns the slot that a topic belongs to, or AnySlot.
func (t Topic) Slot() int {
	if t.Kind != Sharded {
		return AnySlot
	}
	return int(slot.Of(t.Name))
}

// Errors that package redispubsub exports, and explains.
var (
	Errors     = errs.ErrPubSub
	ErrRefused = Errors.NewType("refused")
	ErrClosed  = errs.ErrPubSubClosed
	ErrFull    = Errors.NewType("buffer_full")
	ErrNoNodes = Errors.NewType("no_nodes", redis.ErrTraitNotSent)
	ErrStream  = Errors.NewType("stream", redis.ErrTraitConnectivity)
)
