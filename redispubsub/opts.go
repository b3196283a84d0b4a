package redispubsub

import (
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redispubsub/internal/inbox"
	"github.com/joomcode/redispipe/redispubsub/internal/subscriptions"
)

// Opts are the options of a [Subscriber]. The zero value is fit for production. The
// options for dialing, and IOTimeout, are those of the connection or the cluster.
type Opts struct {
	// Logger gets what happens to the sockets. Default DefaultLogger.
	Logger Logger
	// Hooks are called around each Subscribe and Unsubscribe, the outermost first: see
	// redis.WithHook. Messages pass no hook.
	Hooks []redis.Hook
}

// SubscriptionOpts are the options of a Subscription. The zero value is fit for
// production.
type SubscriptionOpts struct {
	// MaxMessages bounds the messages in the buffer; 0 and less stand for the default,
	// 8192.
	MaxMessages int
	// MaxBytes bounds the bytes of payloads and names in the buffer. A longer message
	// is accepted if the buffer is empty. 0 and less stand for the default, 16 MiB.
	MaxBytes int
	// Policy is what happens to messages past a bound. Default DropOldest.
	Policy Policy
	// On is which nodes of a cluster the topics are subscribed on. Default OneNode.
	On NodeSet
	// Status also delivers the events Subscribed and Unsubscribed. Default false.
	Status bool
}

// NodeSet is a set of nodes. Nodes pass messages on to each other, so it is enough to
// subscribe on one of them. The exception are messages that a node sends only to its own
// subscribers: above all keyspace notifications, as of Pattern("__keyevent@0__:expired").
//
// A subscription on several nodes has sockets beside those of other subscriptions. It follows the
// cluster: a new node is subscribed, too, with a gap that begins when the cluster was last asked
// and did not have that node. Message.Node and Gap.Nodes say which node is meant. It can have no
// sharded channels.
type NodeSet = subscriptions.NodeSet

const (
	// OneNode is a node that has the topic.
	OneNode NodeSet = subscriptions.OneNode
	// AllMasters are those that serve slots.
	AllMasters NodeSet = subscriptions.AllMasters
	// AllNodes are the masters and their replicas. Replicas notify of what they replicate,
	// so that most events come once from each.
	AllNodes NodeSet = subscriptions.AllNodes
)

// Policy is what happens when the buffer is full.
type Policy = inbox.Policy

const (
	// DropOldest drops the messages that have waited longest.
	DropOldest Policy = inbox.DropOldest
	// DropNewest drops those that come.
	DropNewest Policy = inbox.DropNewest
	// Block stops reading until there is room. The subscription has its own sockets, so it
	// does not delay others. But their messages are transferred in addition to those of
	// other subscriptions: if the network is too slow for both, other sockets may be silent
	// for too long, which gives their subscriptions a gap. If too much queues up at the
	// server (client-output-buffer-limit pubsub), the server closes the socket, which is a
	// gap, too. The server's answers to Subscribe and Unsubscribe come behind the messages,
	// so somebody has to take events meanwhile, unless no topic is left.
	Block Policy = inbox.Block
	// EndWithError ends the subscription with ErrBufferFull.
	EndWithError Policy = inbox.EndWithError
)

const (
	// defaultMaxMessages is enough for some 10 ms at a million messages a second, the
	// most that a subscriber can receive: longer than a goroutine waits to be run, or is
	// stopped by the garbage collector. The events take 1.2 MiB.
	defaultMaxMessages = 8192
	defaultMaxBytes    = 16 << 20
)

func (o SubscriptionOpts) withDefaults() (SubscriptionOpts, error) {
	if o.Policy > EndWithError {
		return o, ErrPubSub.NewType("policy").New("there is no %v", o.Policy)
	}
	if o.On > AllNodes {
		return o, ErrPubSub.NewType("node_set").New("there is no %v", o.On)
	}
	if o.MaxMessages <= 0 {
		o.MaxMessages = defaultMaxMessages
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = defaultMaxBytes
	}
	return o, nil
}
