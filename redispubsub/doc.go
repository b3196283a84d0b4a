// Package redispubsub subscribes to channels, and reports which messages it may have
// missed.
//
// A [Subscriber] subscribes on one server ([New]) or on a cluster ([NewCluster]), with
// sockets of its own in addition to the shared ones. A [Subscription] delivers events in order:
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
// the server to the consumer. Losses between servers, as on a cluster's bus, can't be noticed,
// and a loss shortly before Unsubscribe may go unreported.
//
// While a slot moves, it may have two owners. So the gap of a sharded channel lasts until the
// old owner has given the channel up, and all nodes know the new one.
//
// PUBLISH and SPUBLISH are ordinary requests: send them through the connection or the cluster.
// A cluster sends all messages of a channel to one node, where the channel is subscribed, too, so
// they do not depend on the bus. If other clients publish a channel on several nodes, its
// messages may come in another order: the bus keeps the order only between two nodes.
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
// redispubsub has the goroutines, the lock and the sockets. It is a package of its own, since no
// part of it is a request: it needs sockets (push.Socket) and the nodes (backend.Nodes, which a
// cluster implements), but no queue, batch or reader. Three packages below it do no I/O, and it
// makes public types of theirs:
//
// - internal/wanted compares what is wanted with what servers have confirmed, and decides on
//   which node a topic is to be. Subscriber.mu guards all of its Table. unlock sends what
//   Table.Asks returns.
// - internal/inbox holds the events of a subscription, and tells where messages are missing.
// - internal/pubsub has the words of the protocol: commands, their answers, pushes.
//
// # Sockets
//
// - A feed is a node with topics. Subscriber.attend dials it, receives, and dials again. A
//   session is the life of one of its sockets.
// - A subscription with the policy Block has feeds of its own, since it stops reading.
// - A push.Socket writes and watches in one goroutine, and its owner reads. Client-side caching
//   reads invalidations from the same sockets, by the same DecodePush.
//
// # What is asked for
//
// - topic.members says whether a topic is wanted, topic.live whether it is confirmed. settle
//   notes in Feed.dirty that they differ, whatever the cause.
// - Table.Asks makes one batch of commands of what is dirty. The next batch follows when the
//   first is answered.
// - Each command is followed by a PING of a nonce. An error before its echo belongs to that
//   command. An unsubscription that no command in flight has asked for is the server's own.
//
// # Gaps
//
// - A member takes the messages of one socket, or has an open gap. Both change under the lock
//   of its inbox, so no message slips in between.
// - A gap begins when the last heartbeat was sent that was echoed: what the server had sent by
//   then was received before the echo. In a cluster the gap begins 100 ms earlier, because of
//   what was still on the bus. If another node has the topic, the gap begins at least 2 seconds
//   before that was known here, since the first node may have heard of it late.
// - A gap ends with the confirmation.
// - The place of a gap among the messages is exact for what is lost between a server and the
//   client. What servers lose on the way to each other may lie before messages that came before
//   the gap: a master that was stopped and replaced passes on what it gets by a link of the bus
//   that has just been made anew, until the client knows the new master. So a node that could not
//   be reached for a while is asked for its topics again 200 ms after it can be (Feed.Connected).
// - Gaps without a message between them are merged (run, in internal/inbox), which bounds the
//   memory of a consumer that has stopped.
// - The reason of a gap follows from the next node. It is Failover if that one was a replica, or
//   if the node before is no master any more. When a server unsubscribes a topic by itself, the
//   reason is known one round trip later, and the consumer is told of the gap then.
//
// # A topic that moves to another node
//
// - Its members join the topic on the feed of the new node. What still comes by the old feed is
//   dropped.
// - The new node must not bring again what the old one has delivered. Messages by the bus are
//   late: mostly by 40 ms, because of delayed acknowledgments. So members get messages only
//   after a confirmation that was asked for since the move (topic.fences).
// - If the new node has messages from the bus, it is asked 100 ms after the old one was left,
//   and twice, since a node that was stopped confirms first and reads the bus then.
// - Publishers help. PUBLISH goes to the master of the channel's slot, where the channel is
//   subscribed. After the master of a slot has changed, nothing is published to its channels
//   for 100 ms (Snapshot.HoldsBack). Otherwise a message to the new master would overtake those
//   that the old one has still to pass on. Neither of them refuses a message: a replica takes
//   SPUBLISH, too.
//
// # A slot with two owners
//
// - While a slot moves, the old owner takes SPUBLISH until it has heard of the new one. So a
//   sharded channel stays subscribed on the node that it leaves (internal/wanted/leaving.go).
// - The old owner is done with the channel when it unsubscribes the channel by itself, refuses
//   it, or its session ends. An unsubscription of ours would prove nothing. An old owner that
//   answers and keeps the channel is waited for 2 seconds.
// - The gap ends when the old owner is done and the new one has confirmed. Messages that come
//   from either of them before that are dropped. A Subscribe meanwhile waits for both, too.
// - A third node, such as a master that has just become a replica, may not know the new owner
//   yet, and pass messages on to the old one. So the new owner is asked 100 ms after the move is
//   known here, also for channels that are new; the gap, or Subscribe, lasts until then.
// - The new owner may be a replica again by then, and confirms all the same. So the nodes are
//   found out once more after the confirmation.
//
// # Several nodes
//
// - A subscription on several nodes has a member for each. Their topics do not move: Set.follow
//   adds and removes members.
// - For a node that is new the gap begins when the cluster was asked last and had the old nodes.
