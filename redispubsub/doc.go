// Package redispubsub subscribes to channels, and reports which messages it may have
// missed.
//
// A [Subscriber] subscribes on one server ([New]) or on a cluster ([NewCluster]), with
// its own sockets in addition to the shared ones. A [Subscription] delivers events in order:
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
// If there is no [Gap] between two events, no message was lost between them on its way from
// the server to the consumer. The client can't notice messages that are lost between servers, for
// example on the cluster bus, and may not report a loss shortly before Unsubscribe.
//
// While a slot moves, it may have two owners. So the gap of a sharded channel lasts until the
// old owner has ended the subscription and all nodes know the new owner.
//
// PUBLISH and SPUBLISH are ordinary requests: send them through the connection or the cluster.
// A rediscluster.Cluster publishes all messages of a channel on one node, and the Subscriber
// subscribes to the channel there, so the messages do not depend on the cluster bus. If other clients
// publish to a channel on several nodes, its messages may arrive in another order, because the bus
// keeps the order only between two nodes.
//
// # Keyspace notifications
//
// Each node of a cluster sends notifications only for its own keys. Set [SubscriptionOpts].On to
// subscribe to topics such as Pattern("__keyevent@0__:expired") on all masters, or on all nodes,
// including nodes that join later. The servers' notify-keyspace-events selects the events.
//
// The guide is docs/pubsub.md.
package redispubsub

// For maintainers: how a subscriber works.
//
//	Subscription → Set → Member → topic → Feed → session → PushSocket        (topics to the server)
//	Event ← Inbox ← Intake ◄──────────────────── session                     (messages to the user)
//
// redispubsub owns the goroutines, the lock and the sockets. It is a separate package, because no
// part of it is a request: it needs sockets (push.Socket) and the nodes (backend.Nodes, which a
// cluster implements), but no queue, batch or reader. Three packages below it do no I/O;
// some of their types are aliases here:
//
// - internal/subscriptions compares the requested topics with the topics that servers have
//   confirmed, and chooses the node of a topic. Subscriber.mu guards all of its Table. unlock sends
//   what Table.Asks returns.
// - internal/inbox holds the events of a subscription, and records where messages are missing.
// - internal/pubsub has the commands, answers and pushes of the protocol.
//
// # Sockets
//
// - A feed is a node with topics. Subscriber.attend dials the node, receives, and dials again. A
//   session is the time from the connection of a socket to its end.
// - A subscription with the policy Block has its own feeds, because it stops reading from its sockets
//   when its inbox is full.
// - A push.Socket writes and watches in one goroutine, and its owner reads. Client-side caching
//   reads invalidations from the same sockets, by the same DecodePush.
//
// # Commands
//
// - A topic is requested if it has members (topic.members), and confirmed if topic.live is set. If the
//   two differ, settle records the topic in Feed.dirty.
// - Table.Asks builds one batch of commands for all dirty topics. The next batch follows when the
//   first is answered.
// - A PING with a nonce follows each command. An error that arrives before the echo of the nonce belongs
//   to that command. If the server confirms an unsubscription that no command in flight requests, the
//   server itself has unsubscribed the topic.
//
// # Gaps
//
// - A member takes the messages of one socket, or has an open gap. It changes from one to the other under
//   the lock of its inbox, so no message is added in between.
// - A gap starts at the time when the last echoed heartbeat was sent: all messages that the server
//   had sent by then arrived before the echo. In a cluster the gap starts 100 ms earlier, because
//   messages may still have been on the bus. If the topic goes to another node, the gap starts at
//   least 2 seconds before the client learned of it, because the first node may have learned late.
// - A gap ends with the confirmation.
// - For losses between a server and the client, the place of a gap among the messages is exact. For
//   losses between servers it may be too late: a master that was stopped and replaced passes on messages
//   that it gets over a new bus link, until the client knows the new master. So after a node was
//   unreachable for a while, the client subscribes there again only 200 ms after it can reach the node
//   (Feed.Connected).
// - Gaps without a message between them are merged (run, in internal/inbox), which bounds the
//   memory of a consumer that has stopped.
// - The reason of a gap follows from the next node. It is Failover if that node was a replica, or
//   if the previous node is no longer a master. When a server unsubscribes a topic by itself, the
//   reason is known one round trip later, and only then does the consumer get the gap.
//
// # A topic that moves to another node
//
// - Its members join the topic on the feed of the new node. Messages that still arrive over the old
//   feed are dropped.
// - The new node must not repeat messages that the old one has delivered. Messages over the bus are
//   late, usually by 40 ms, because of delayed acknowledgments. So members get messages only
//   after a confirmation that was requested after the move (topic.fences).
// - If the new node gets messages over the bus, the client subscribes 100 ms after it has left the
//   old one, and does so twice, because a node that was stopped first confirms and then reads the bus.
// - Publishers help. PUBLISH goes to the master of the channel's slot, where the channel is
//   subscribed. After the master of a slot has changed, the cluster publishes nothing to its channels
//   for 100 ms (Snapshot.HoldsBack). Otherwise a message to the new master would overtake messages
//   that the old master still has to pass on. The servers do not prevent this: even a replica
//   accepts SPUBLISH.
//
// # A slot with two owners
//
// - While a slot moves, the old owner accepts SPUBLISH until it knows the new one. So a sharded
//   channel stays subscribed on the node that it leaves (internal/subscriptions/leaving.go).
// - The old owner is done with the channel when it unsubscribes the channel by itself, refuses
//   it, or its session ends. If the client unsubscribed, it would not learn when the old owner is done.
//   If the old owner answers and keeps the channel, the client waits for 2 seconds.
// - The gap ends when the old owner is done and the new one has confirmed. The client drops messages
//   from either of them before that. A Subscribe during this time also waits for both.
// - A third node, such as a master that has just become a replica, may not know the new owner
//   yet, and pass messages on to the old one. So the client subscribes on the new owner 100 ms after
//   it has learned of the move, also to new channels; the gap, or Subscribe, lasts until then.
// - By then the new owner may be a replica again, and replicas confirm as well. So the client reads
//   the topology again after the confirmation.
//
// # Several nodes
//
// - A subscription on several nodes has a member for each topic and node. These topics do not move
//   between nodes: Set.follow adds and removes members.
// - For a new node the gap starts at the last time when the topology was read and did not have the node.
