package send

import (
	"fmt"
	"slices"
)

// openers are the functions that Opens has registered, the last one first: a package is initialized
// after those that it imports, and programs mostly use the senders of the last one.
var openers []func(sender any) (inside any, known bool)

// Opens registers open for the public types of senders of a package, which calls Opens when it is
// initialized. If sender is of such a type, open sets known and returns what is inside: a
// [Backend], or the sender that a client sends through. For a nil pointer, inside is nil.
//
// A user's type that embeds a sender is a different type, which no package has registered. So its
// methods are never bypassed.
func Opens(open func(sender any) (inside any, known bool)) {
	openers = slices.Insert(openers, 0, open)
}

// Inside returns what is inside a sender of a public type. For other senders it returns the sender
// itself, and false.
func Inside(sender any) (inside any, known bool) {
	for _, open := range openers {
		if inside, known = open(sender); known {
			return inside, true
		}
	}
	return sender, false
}

// Describe names a sender in an error, in users' words.
func Describe(sender any) string {
	if made, ok := sender.(interface{ MadeBy() string }); ok {
		return "a sender of " + made.MadeBy()
	}
	return fmt.Sprintf("a %T", sender)
}

// BackendOf returns the backend of a sender, or nil if the sender has none.
func BackendOf[F any](sender any) Backend[F] {
	inside, _ := Inside(sender)
	b, _ := inside.(Backend[F])
	return b
}

// DelegateOf returns the sender that a client sends through. For a sender that has a backend, and
// for one of an unknown type, it returns false. S is redis.Sender.
func DelegateOf[F, S any](sender S) (delegate S, is bool) {
	inside, known := Inside(sender)
	if _, sends := inside.(Backend[F]); !known || sends {
		return delegate, false
	}
	delegate, is = inside.(S)
	return delegate, is
}

// Sessionless is what is inside a sender of this module that has no sessions, although the senders
// that it sends to have them.
type Sessionless interface {
	// WhyNoSessions returns the reason, for an error.
	WhyNoSessions() string
}
