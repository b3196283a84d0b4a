// Package redispubsub subscribes to channels, and reports which messages it may have
// missed.
//
// A [Subscriber] subscribes on one server ([New]) or on a cluster ([NewCluster]), with
// sockets of its own beside the shared ones. A [Subscription] delivers events in order:
//
//	subscriber, err := redispubsub.New(conn, redispubsub.Opts{})
//	if err != nil {
//		return err
//	}
//	defer subscriber.Close()
//	sub := subscriber.NewSubscription(redispubsub.SubscriptionOpts{})
//	if err := sub.Subscribe(ctx, redispubsub.Channel("news")); err != nil {
//		return err
//	}
//	for ev, err := range sub.Events(ctx) {
//		if err != nil {
//			return err
//		}
//		switch ev := ev.(type) {
//		case redispubsub.Message:
//			fmt.Printf("%s: %s\n", ev.Channel, ev.Payload)
//		case redispubsub.Gap:
//			reload(ev.Topics) // messages may be missing
//		}
//	}
//
// If there is no [Gap] between two events, nothing was lost between them on the way from
// the server to the consumer. A slot that moves may have two owners for a while; the gap
// of a sharded channel lasts until the old owner has given the channel up, and all nodes
// know the new one. Losses between servers, as on a cluster's bus, can't be noticed. A
// loss shortly before Unsubscribe may go unreported. The bus keeps the order of messages
// only between two nodes: messages of one channel that are published on several nodes may
// come in another order.
//
// PUBLISH and SPUBLISH are ordinary requests: send them through the connection or the
// cluster, which sends all messages of a channel to one node. The channel is subscribed on
// the same node, so its messages do not depend on the bus.
//
// # Keyspace notifications
//
// Each node of a cluster notifies of its own keys. With [SubscriptionOpts].On the topics,
// such as Pattern("__keyevent@0__:expired"), are subscribed on all masters, or on all nodes,
// as these come and go. The servers' notify-keyspace-events says which events there are.
//
// The guide is docs/pubsub.md.
package redispubsub

// For maintainers: how a subscriber works.
//
//	Subscription → Set → Member → topic → Feed → session → PushSocket        (what is wanted)
//	Event ← Inbox ← Intake ◄──────────────────── session                     (what comes)
//
// redispubsub is a package of its own, since no part of it is a request: it needs a socket
// (redisconn.PushSocket) and the nodes (inner.Nodes, which a cluster implements), but no
// queue, batch or reader. rediscluster may import it. It has the goroutines, the lock and
// the sockets, and makes public types of those of three packages, which do no I/O:
//
// - internal/wanted compares what is wanted with what servers have confirmed, and decides
//   where a topic is to be. All of its Table is guarded by Subscriber.mu; unlock sends what
//   Table.Asks returns.
// - internal/inbox holds the events of a subscription, and tells where messages are missing.
// - internal/pubsub is the words of the protocol: commands, their answers, pushes.
//
// What holds it together:
//
// - A feed is a node with topics; Subscriber.attend dials, receives and dials again. A session
//   is the life of one of its sockets. A subscription that blocks has feeds of its own.
// - Wanted and confirmed are topic.members and topic.live. settle notes a difference in
//   Feed.dirty, whatever has caused it; Table.Asks makes one batch of commands of it,
//   and the next one when all answers have come. Each command is followed by a PING of a
//   nonce: an error before its echo belongs to this command, and an unsubscription that no
//   command in flight asked for is the server's own.
// - A member takes the messages of one socket, or has an open gap. State and gap change
//   under the lock of its inbox, so no message slips in between. When a topic moves, its
//   members go to the topic on the other feed; messages that still come from the first are
//   dropped.
// - A gap begins when the last heartbeat that was echoed had been sent: by then the server
//   had sent everything that was received before the echo. In a cluster it begins 100 ms
//   earlier, for what was still on the bus, and if another node has the topic at least 2
//   seconds before the news of that, since the first one may have heard of it late. It
//   ends with the confirmation.
// - The place of a gap among the messages is exact. Gaps without a message between them
//   are merged (run in internal/inbox/message.go), which bounds the memory of a stalled consumer.
// - Messages by the bus come late, as a rule by 40 ms because of delayed acknowledgments, and
//   in order only between two nodes. So a topic that moves must not bring messages that its
//   node before has delivered: members get messages only after a confirmation that was
//   asked for since the move (topic.fences). Where the new node has messages from the bus,
//   it is asked 100 ms after the other was left, and twice: a node that was stopped
//   confirms, and then reads the bus. Publishers do their part: PUBLISH goes to the master
//   of the channel's slot, where the channel is subscribed, too, and for 100 ms after the
//   master of a slot has changed nothing is published to its channels
//   (Snapshot.HoldsBack). Without that a message to the new master overtakes those that
//   the old one has still to pass on; neither refuses them, since a replica takes
//   SPUBLISH, too.
// - A slot may have two owners while it moves: the old one takes SPUBLISH until it has
//   heard of the new one. So a sharded channel that moves stays subscribed on the node
//   that it leaves (internal/wanted/leaving.go). The gap ends when that node has unsubscribed it by
//   itself, or refuses it, or its session has ended, and the new one has confirmed;
//   messages that come before that from either are dropped. Our own unsubscription would
//   prove nothing. A Subscribe that comes in between waits for both, too. A node that
//   answers and keeps the channel is waited for 2 seconds. A third node may not know the
//   new owner yet, as a master that has just become a replica: it takes SPUBLISH and
//   passes it on to the old owner. So the new one is asked 100 ms after the move is known
//   here, for channels that are new as well; the gap, or Subscribe, lasts until then. It
//   may be a replica again by then, which confirms, too: so the nodes are found out once
//   more behind the confirmation.
// - The reason of a gap follows from the node that is asked next: it is a failover if that
//   one was a replica, or if the node that was left is no master any more. When a server
//   unsubscribes a topic, that is known one round trip later, and the gap is told of then.
// - A subscription on several nodes has a member for each, whose topics don't move;
//   Set.follow adds and removes them. For a new node the gap begins when the cluster was
//   asked last and still had the old nodes.
//
// PushSocket writes and watches in one goroutine, and is read by its owner. Client-side
// caching needs the same: DecodePush reads invalidations as it reads messages.
