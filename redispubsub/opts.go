package redispubsub

import (
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redispubsub/internal/inbox"
	"github.com/joomcode/redispipe/redispubsub/internal/subscriptions"
)

// Opts are the options of a [Subscriber]. The zero value is fit for production. The
// options for dialing, and IOTimeout, are those of the connection or the cluster.
type Opts struct {
	// Logger gets the events of the sockets. Default DefaultLogger.
	Logger Logger
	// Hooks are called around each Subscribe and Unsubscribe, the outermost first: see
	// redis.WithHook. They are not called for messages.
	Hooks []redis.Hook
}

// SubscriptionOpts are the options of a Subscription. The zero value is fit for
// production.
type SubscriptionOpts struct {
	// MaxMessages bounds the messages in the buffer. Default, for 0 or less: 8192.
	MaxMessages int
	// MaxBytes bounds the bytes of payloads and names in the buffer. A longer message
	// is accepted if the buffer is empty. Default, for 0 or less: 16 MiB.
	MaxBytes int
	// Policy decides about messages that exceed a bound. Default DropOldest.
	Policy Policy
	// On is the set of nodes of a cluster on which to subscribe. Default OneNode.
	On NodeSet
	// Status makes the subscription also deliver the events Subscribed and Unsubscribed. Default false.
	Status bool
	// Prefix is put in front of the name of each topic, and removed from the names in events, as
	// [redis.WithPrefix] does for PUBLISH. In names such as __keyspace@0__:key it is put in front of the
	// key. Messages of channels such as __keyevent@0__:set are dropped if their key lacks the prefix.
	// Default none.
	Prefix string
}

// NodeSet is a set of nodes. Nodes pass messages on to each other, so it is enough to
// subscribe on one of them. The exception is messages that a node sends only to its own
// subscribers, above all keyspace notifications such as Pattern("__keyevent@0__:expired").
//
// A subscription on several nodes has its own sockets. It follows the
// cluster: it also subscribes on a new node, with a gap that starts at the last time when the topology
// was read and did not have that node. Message.Node and Gap.Nodes name the node. The subscription
// can't have sharded channels.
type NodeSet = subscriptions.NodeSet

const (
	// OneNode is a node that has the topic.
	OneNode NodeSet = subscriptions.OneNode
	// AllMasters are the masters that serve slots.
	AllMasters NodeSet = subscriptions.AllMasters
	// AllNodes are the masters and their replicas. Replicas also send notifications for replicated
	// changes, so most notifications arrive once from the master and once from each replica.
	AllNodes NodeSet = subscriptions.AllNodes
)

// Policy decides what happens when the buffer is full.
type Policy = inbox.Policy

const (
	// DropOldest drops the messages that have waited longest.
	DropOldest Policy = inbox.DropOldest
	// DropNewest drops the messages that arrive while the buffer is full.
	DropNewest Policy = inbox.DropNewest
	// Block stops reading until there is room. The subscription has its own sockets, so it
	// does not delay others. But the messages on these sockets are transferred in addition to those of
	// other subscriptions: if the network is too slow for both, other sockets may be silent
	// for too long, which gives their subscriptions a gap. If too much queues up at the
	// server (client-output-buffer-limit pubsub), the server closes the socket, which is also a
	// gap. The server's answers to Subscribe and Unsubscribe arrive after the messages,
	// so another goroutine must consume events while such a call waits, unless no topic is left.
	Block Policy = inbox.Block
	// EndWithError ends the subscription with ErrBufferFull.
	EndWithError Policy = inbox.EndWithError
)

const (
	// defaultMaxMessages is enough for about 10 ms at a million messages a second, the
	// most that a subscriber can receive. A goroutine usually waits for a processor, or for the garbage
	// collector, for a shorter time. The events take 1.2 MiB.
	defaultMaxMessages = 8192
	defaultMaxBytes    = 16 << 20
)

func (o SubscriptionOpts) withDefaults() (SubscriptionOpts, error) {
	if o.Policy > EndWithError {
		return o, ErrPubSub.NewType("policy").New("invalid %v", o.Policy)
	}
	if o.On > AllNodes {
		return o, ErrPubSub.NewType("node_set").New("invalid %v", o.On)
	}
	if o.MaxMessages <= 0 {
		o.MaxMessages = defaultMaxMessages
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = defaultMaxBytes
	}
	return o, nil
}
