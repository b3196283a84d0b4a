package redispubsub

import (
	"fmt"
	"time"
)

// Event is a [Message], a [Gap], or, if SubscriptionOpts.Status asks for them, a
// [Subscribed] or [Unsubscribed].
type Event interface{ event() }

// Message is what somebody has published.
type Message struct {
	Channel string
	// Pattern is the pattern that the channel matches, if that was subscribed.
	Pattern string
	// Payload must not be changed: all subscriptions of a topic get the same.
	Payload []byte
	// Sharded is whether it came by SPUBLISH.
	Sharded bool
	// Time is when it was read from the socket.
	Time time.Time
}

// Gap tells that messages may be missing. It comes between the last message before and
// the first one after, when the loss is noticed, with an open end; and once more when
// the topics are subscribed again, with all its times. Who is slower than that gets
// the second one only. Gaps that nobody has taken yet are merged, if there is no
// message between them.
type Gap struct {
	// Topics are those that messages may be missing of.
	Topics []Topic
	// From is the time before which nothing was lost.
	From time.Time
	// To is when the topics were subscribed again, or the last message was dropped.
	// It is zero as long as the gap is open. At the end of a subscription its gaps end.
	To time.Time
	// Reason says why.
	Reason Reason
	// Dropped is how many messages did not fit into the buffer, for BufferFull. Of
	// other losses nobody knows the number.
	Dropped int
	// Err is what happened to the connection, or what the server said.
	Err error
}

// Open reports whether messages are still being missed.
func (g Gap) Open() bool { return g.To.IsZero() }

// Reason is why messages may be missing.
type Reason uint8

const (
	// ConnectionLost: the socket broke, or the server was silent for too long.
	ConnectionLost Reason = iota + 1
	// SlotMoved: the server gave the topic up, or another node is to be asked, since
	// the slot of the topic has moved or a replica has become master.
	SlotMoved
	// BufferFull: the consumer was slower than the publishers.
	BufferFull
)

// String implements fmt.Stringer.
func (r Reason) String() string {
	switch r {
	case ConnectionLost:
		return "connection lost"
	case SlotMoved:
		return "slot moved"
	case BufferFull:
		return "buffer full"
	}
	return fmt.Sprintf("Reason(%d)", uint8(r))
}

// Subscribed tells that the server has confirmed a topic. What is published from then on
// comes.
type Subscribed struct {
	Topic Topic
	Time  time.Time
}

// Unsubscribed tells that a topic is not subscribed any more. Err is nil if it was by
// Unsubscribe. It is sent, whether asked for or not, for a topic that the server refuses
// for good (ErrRefused) after it was subscribed: the subscription goes on without it.
type Unsubscribed struct {
	Topic Topic
	Time  time.Time
	Err   error
}

func (Message) event()      {}
func (Gap) event()          {}
func (Subscribed) event()   {}
func (Unsubscribed) event() {}
