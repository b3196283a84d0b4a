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
// Between two events with no [Gap] between them, nothing was lost on the way from the
// server to the consumer. While a slot of a cluster moves, that means both of its owners:
// the gap of a sharded channel lasts until the old one has given the channel up, and all
// nodes know the new one. Losses among the servers, as on a cluster's bus, can't be seen.
// Nor is anybody told of what was lost shortly before Unsubscribe, and not noticed yet.
// The bus keeps the order of messages only between two nodes: messages of one channel that
// are published on several nodes may come in another order.
//
// PUBLISH and SPUBLISH are ordinary requests: send them through the connection or the
// cluster, which sends all of a channel to one node. That is the node on which a channel is
// subscribed, so that its messages do not depend on the bus.
//
// # Keyspace notifications
//
// Each node of a cluster notifies of its own keys. With [SubscriptionOpts].On the topics,
// such as Pattern("__keyevent@0__:expired"), are subscribed on all masters, or on all nodes,
// as these come and go. The servers' notify-keyspace-events says which events there are.
//
// The guide is docs/pubsub.md.
package redispubsub
