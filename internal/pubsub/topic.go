// Package pubsub defines the protocol of subscriptions: the commands that subscribe and
// unsubscribe, the answers to them, and the pushes. It does no I/O.
package pubsub

import (
	"fmt"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/slot"
	"github.com/joomcode/redispipe/redis"
)

// Kind is redispubsub.Kind.
type Kind uint8

// The kinds.
const (
	Channel Kind = iota
	Pattern
	Sharded
	none
)

// words are the commands for a Kind, and the kinds of its pushes.
type words struct{ subscribe, unsubscribe, subscribed, unsubscribed, message string }

var kinds = [none]words{
	Channel: {"SUBSCRIBE", "UNSUBSCRIBE", "subscribe", "unsubscribe", "message"},
	Pattern: {"PSUBSCRIBE", "PUNSUBSCRIBE", "psubscribe", "punsubscribe", "pmessage"},
	Sharded: {"SSUBSCRIBE", "SUNSUBSCRIBE", "ssubscribe", "sunsubscribe", "smessage"},
}

// Valid reports whether the kind exists.
func Valid(k Kind) bool { return k < none }

// String implements fmt.Stringer.
func (k Kind) String() string {
	return Named("Kind", uint8(k), "channel", "pattern", "sharded channel")
}

// Named returns the name of value n of type of, or its number if it has no name.
func Named(of string, n uint8, names ...string) string {
	if int(n) < len(names) && names[n] != "" {
		return names[n]
	}
	return fmt.Sprintf("%s(%d)", of, n)
}

// CommandOf returns the command that subscribes or unsubscribes topics of a kind.
func CommandOf(k Kind, subscribe bool) string {
	if subscribe {
		return kinds[k].subscribe
	}
	return kinds[k].unsubscribe
}

// Topic is redispubsub.Topic.
type Topic struct {
	Kind Kind
	Name string
}

// String implements fmt.Stringer.
func (t Topic) String() string { return fmt.Sprintf("%v %q", t.Kind, t.Name) }

// AnySlot is the slot of topics that every node of a cluster accepts.
const AnySlot = -1

// SlotOf returns the slot that a topic belongs to, or AnySlot.
func SlotOf(t Topic) int {
	if t.Kind != Sharded {
		return AnySlot
	}
	return int(slot.Of(t.Name))
}

// Errors that package redispubsub exports and documents.
var (
	Errors     = errs.ErrPubSub
	ErrRefused = Errors.NewType("refused")
	ErrClosed  = errs.ErrPubSubClosed
	ErrFull    = Errors.NewType("buffer_full")
	ErrNoNodes = Errors.NewType("no_nodes", redis.ErrTraitNotSent)
	ErrStream  = Errors.NewType("stream", redis.ErrTraitConnectivity)
)
