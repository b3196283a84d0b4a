package redispubsub

import (
	"fmt"
	"slices"
	"strings"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/pubsub"
)

var (
	// ErrPubSub is the namespace of the errors of this package.
	ErrPubSub = pubsub.Errors
	// ErrTopic: a topic has no name or an unknown kind, or there is no topic at all. Not sent.
	ErrTopic = errs.ErrTopic
	// ErrRefused: the server refuses the topic, and would refuse it again: the user
	// lacks the permission, or the server has no sharded channels. The server's error
	// is the cause.
	ErrRefused = pubsub.ErrRefused
	// ErrClosed: the subscription or its subscriber was closed. If it was closed before the call,
	// nothing was sent.
	ErrClosed = pubsub.ErrClosed
	// ErrBufferFull ends a subscription with the policy EndWithError.
	ErrBufferFull = pubsub.ErrFull
	// ErrNoNodes: no node is known for a subscription on several nodes. Not
	// sent.
	ErrNoNodes = pubsub.ErrNoNodes
	// ErrConsumed: another goroutine is iterating over the events of the subscription.
	ErrConsumed = ErrPubSub.NewType("consumed")
	// ErrStream: the server sent something invalid, such as the confirmation of a topic
	// that was not requested. The client replaces the socket, and the gap has this error.
	ErrStream = pubsub.ErrStream
)

// SubscribeError lists the topics that were not subscribed. The other topics of the call were
// subscribed. The text of the error does not contain the names of topics.
type SubscribeError struct {
	Topics []Topic
	Errors []error // in the order of Topics
}

// Error implements error.
func (e *SubscribeError) Error() string {
	if e == nil {
		return "redispubsub: no error"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "redispubsub: topics that were not subscribed: %d", len(e.Topics))
	for _, err := range e.Errors[:min(len(e.Topics), len(e.Errors), 3)] {
		fmt.Fprintf(&b, "; %v", err)
	}
	return b.String()
}

// Unwrap returns the errors, so that errors.Is and errors.As look at each of them.
func (e *SubscribeError) Unwrap() []error {
	if e == nil {
		return nil
	}
	return slices.Clone(e.Errors)
}
